import type { CodeBody, OwnPasswordBody, ProofBody, SecondFactor, SecondFactorEnrolment } from '@sluice/contracts'
import { problems } from '@sluice/http-server'
import { mailSecondFactorChanged } from '../../email/queue-account-emails.ts'
import { replaceRecoveryCodes } from '../../sign-in/second-factor/second-factor.ts'
import {
  startEnrolment,
  confirmEnrolment,
  readSecondFactor,
  removeSecondFactor,
} from '../../sign-in/second-factor/second-factor.ts'
import { createEnrolment } from '../../sign-in/second-factor/totp.ts'
import { auditIfThrottled, countCodeAttempt, clearFailuresAfterSuccess } from '../../sign-in/throttle/throttle.ts'
import type { IdentityRequestContext } from '../operation-context.ts'
import { lockOwnUser, proveByPassword, proveIdentity, readOwnUser } from './prove-identity.ts'

/** Returns the status of the caller's second factor. */
export async function readOwnFactor({ db, caller }: IdentityRequestContext): Promise<SecondFactor> {
  const { id } = await readOwnUser(db, caller)
  const { since, recoveryCodesLeft } = await readSecondFactor(db, id)
  return { enrolled: since !== undefined, since: since?.toISOString(), recoveryCodesLeft }
}

/** Returns a new TOTP seed, which takes effect when the user confirms it with a code. */
export async function startSetup(
  { password }: OwnPasswordBody,
  input: IdentityRequestContext,
): Promise<SecondFactorEnrolment> {
  const { write, config, caller, request } = input
  const user = await readOwnUser(input.db, caller)
  if (user.sso_auth) throw problems.refused('/', 'You sign in through your organisation. Set up a second factor there.')
  const lockProvenUser = await proveByPassword(password, input)
  return write(async (trx) => {
    const { id, username, client_name } = await lockProvenUser(trx)
    const seed = await startEnrolment(trx, id, config.SECRET_KEYS)
    if (seed === undefined)
      throw problems.conflict('/', 'You already have a second factor. Remove it before you set up another.')
    request.audit(caller.uid)
    return { secret: seed, ...createEnrolment(seed, { issuer: `Sluice ${client_name}`, username }) }
  })
}

/** Activates the TOTP seed. A correct code proves that the user's app has the seed. */
export async function confirmSetup({ code }: CodeBody, input: IdentityRequestContext) {
  const { db, write, config, caller, request } = input
  const attempt = await auditIfThrottled(() => countCodeAttempt(db, caller.uid, request.address), caller, input)
  const recoveryCodes = await write(async (trx) => {
    const { id } = await lockOwnUser(trx, caller)
    const result = await confirmEnrolment(trx, id, code, config.SECRET_KEYS)
    if (result === 'nothing to confirm')
      throw problems.conflict('/', 'No second factor is being set up. Start the setup first.')
    if (result === 'wrong code') {
      request.audit(caller.uid, { outcome: result })
      return undefined
    }
    await clearFailuresAfterSuccess(trx, attempt)
    await mailSecondFactorChanged(trx, config, { id }, 'set up')
    request.audit(caller.uid, { before: { twoFactorAuth: false }, after: { twoFactorAuth: true } })
    return result
  })
  // An error inside `write` would roll back the audit row of the wrong code, so this function throws afterwards.
  if (!recoveryCodes) throw problems.refused('/code', 'The code is incorrect. Check the clock of your device.')
  return { recoveryCodes }
}

/** Removes the caller's second factor, including one with an unfinished setup. */
export async function removeFactor(proof: ProofBody, input: IdentityRequestContext): Promise<void> {
  const { write, config, caller, request } = input
  const lockProvenUser = await proveIdentity(proof, input)
  await write(async (trx) => {
    const { id } = await lockProvenUser(trx)
    const before = await removeSecondFactor(trx, id)
    if (before) await mailSecondFactorChanged(trx, config, { id }, 'removed')
    request.audit(caller.uid, { before: { twoFactorAuth: before }, after: { twoFactorAuth: false } })
  })
}

/** Replaces the caller's recovery codes. The old codes stop working. */
export async function renewRecoveryCodes(proof: ProofBody, input: IdentityRequestContext) {
  const { write, caller, request } = input
  const lockProvenUser = await proveIdentity(proof, input)
  return write(async (trx) => {
    const { id, two_factor_auth } = await lockProvenUser(trx)
    if (!two_factor_auth) throw problems.conflict('/', 'You have no second factor. Set one up first.')
    request.audit(caller.uid)
    return { recoveryCodes: await replaceRecoveryCodes(trx, id) }
  })
}
