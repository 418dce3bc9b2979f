import { identityOperations } from '@sluice/contracts'
import { endSession } from '../../sign-in/sessions/sessions.ts'
import { operation } from '../operation.ts'
import { finishSso, startSso } from './sso-sign-in.ts'
import { login, loginWithCode } from './login.ts'
import { refresh } from './tokens.ts'

export const authOperations = {
  login: operation(identityOperations.auth.login, (input) => login(input.body, input)),

  loginWithCode: operation(identityOperations.auth.loginWithCode, (input) => loginWithCode(input.body, input)),

  refresh: operation(identityOperations.auth.refresh, (input) => refresh(input.body, input)),

  // Must precede startSso, because its path would match "callback" as a client code.
  finishSso: operation(identityOperations.auth.finishSso, (input) => finishSso(input.query, input)),

  startSso: operation(identityOperations.auth.startSso, (input) =>
    startSso(input.params.clientCode, input.query, input),
  ),

  logout: operation(identityOperations.auth.logout, async ({ write, caller, request }) => {
    await write(async (trx) => {
      request.audit(caller.session)
      await endSession(trx, caller.session, 'SIGNED_OUT')
    })
    return undefined
  }),
}
