import { identityOperations } from '@sluice/contracts'
import { operation } from '../operation.ts'
import { readSession } from './read-session.ts'

export const sessionOperations = {
  read: operation(identityOperations.session.read, (input) => readSession(input)),
}
