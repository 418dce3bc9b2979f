import { defineSignature } from '../../operation-signature.ts'
import { CurrentSession, SwitchClientBody } from '../session.ts'

export const sessionSignatures = {
  read: defineSignature({
    id: 'session.read',
    summary: 'Read the signed-in user and the active client',
    method: 'get',
    path: '/session',
    guard: 'signed-in',
    response: CurrentSession,
  }),
  switchClient: defineSignature({
    id: 'session.switchClient',
    summary: 'Switch the active client',
    description: 'Changes only this session. Both services use the new client from the next request on.',
    method: 'put',
    path: '/session/client',
    guard: ['ROLE_SUPER_ADMIN'],
    inPerson: true,
    body: SwitchClientBody,
    response: CurrentSession,
  }),
}
