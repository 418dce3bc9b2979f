import { signature } from '../../operation.ts'
import { Session, SwitchClientBody } from '../session.ts'

export const session = {
  read: signature({
    id: 'session.read',
    summary: 'Who is signed in, and for which client',
    method: 'get',
    path: '/session',
    guard: 'signed-in',
    response: Session,
  }),
  switchClient: signature({
    id: 'session.switchClient',
    summary: 'Act for another client',
    description: 'For this session only, and from the next request on in both services.',
    method: 'put',
    path: '/session/client',
    guard: ['ROLE_SUPER_ADMIN'],
    inPerson: true,
    body: SwitchClientBody,
    response: Session,
  }),
}
