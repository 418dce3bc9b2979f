import { identityOperations } from '@sluice/contracts'
import { endSession } from '../../sign-in/sessions.ts'
import { operation } from '../operation.ts'
import { login } from './login.ts'
import { refresh } from './refresh.ts'

export const authOperations = {
  login: operation(identityOperations.auth.login, (input) => login(input.body, input)),

  refresh: operation(identityOperations.auth.refresh, (input) => refresh(input.body, input)),

  logout: operation(identityOperations.auth.logout, async ({ write, caller, request }) => {
    await write(async (trx) => {
      request.audit(caller.session)
      await endSession(trx, caller.session, 'SIGNED_OUT')
    })
    return undefined
  }),
}
