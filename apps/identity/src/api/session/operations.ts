import { identityOperations } from '@sluice/contracts'
import { operation } from '../operation.ts'
import { readSession } from './read-session.ts'
import { switchClient } from './switch-client.ts'

export const sessionOperations = {
  read: operation(identityOperations.session.read, (input) => readSession(input)),

  switchClient: operation(identityOperations.session.switchClient, async (input) => {
    await switchClient(input.body, input)
    return readSession(input)
  }),
}
