import { signature } from '../../operation.ts'
import { Session, SwitchClientBody } from '../session.ts'

export const session = {
  read: signature({
    id: 'session.read',
    summary: 'The signed-in user and the active client',
    method: 'get',
    path: '/session',
    guard: 'signed-in',
    response: Session,
  }),
  switchClient: signature({
    id: 'session.switchClient',
    summary: 'Switch the active client',
    description: 'For this session only. Takes effect in both services with the next request.',
    method: 'put',
    path: '/session/client',
    guard: ['ROLE_SUPER_ADMIN'],
    inPerson: true,
    body: SwitchClientBody,
    response: Session,
  }),
}
