import { identityOperations } from '@sluice/contracts'
import { operation } from '../operation.ts'
import { createApiToken, deleteApiToken, ownApiTokens } from './api-tokens.ts'
import { changeEmail, changePassword } from './own-password-and-email.ts'
import { confirm, enrol, ownSecondFactor, remove, renewRecoveryCodes } from './second-factor.ts'
import { endOthers, endSession, ownSessions } from './sessions.ts'

const { account } = identityOperations
const nothing = () => undefined

export const accountOperations = {
  changePassword: operation(account.changePassword, (input) => changePassword(input.body, input).then(nothing)),
  changeEmail: operation(account.changeEmail, (input) => changeEmail(input.body, input).then(nothing)),

  readSecondFactor: operation(account.readSecondFactor, (input) => ownSecondFactor(input)),
  enrolSecondFactor: operation(account.enrolSecondFactor, (input) => enrol(input.body, input)),
  confirmSecondFactor: operation(account.confirmSecondFactor, (input) => confirm(input.body, input)),
  removeSecondFactor: operation(account.removeSecondFactor, (input) => remove(input.body, input).then(nothing)),
  renewRecoveryCodes: operation(account.renewRecoveryCodes, (input) => renewRecoveryCodes(input.body, input)),

  listApiTokens: operation(account.listApiTokens, (input) => ownApiTokens(input)),
  createApiToken: operation(account.createApiToken, (input) => createApiToken(input.body, input)),
  deleteApiToken: operation(account.deleteApiToken, (input) => deleteApiToken(input.params.uid, input).then(nothing)),

  listSessions: operation(account.listSessions, (input) => ownSessions(input)),
  endSession: operation(account.endSession, (input) => endSession(input.params.uid, input).then(nothing)),
  endOtherSessions: operation(account.endOtherSessions, (input) => endOthers(input).then(nothing)),
}
