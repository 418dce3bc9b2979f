import { signature } from '../../operation.ts'
import { Session } from '../session.ts'

export const session = {
  read: signature({
    id: 'session.read',
    summary: 'Who is signed in, and for which client',
    method: 'get',
    path: '/session',
    guard: 'signed-in',
    response: Session,
  }),
}
