import { goodPassword } from '../app-under-test.ts'
import { createUserWithTicket } from '../enrol-second-factor.ts'
import type { ValidRequests, Stage } from './valid-requests.ts'

export const authRequests = ({ service, admin }: Stage): ValidRequests => ({
  'auth.login': async () => ({ body: { username: admin.username, password: goodPassword } }),
  'auth.loginWithCode': async () => {
    const { ticket, code } = await createUserWithTicket(service)
    return { body: { ticket, code: code() } }
  },
  'auth.refresh': async () => ({ body: { refreshToken: (await service.signIn(admin.username)).refreshToken } }),
  'auth.logout': async () => ({}),
})
