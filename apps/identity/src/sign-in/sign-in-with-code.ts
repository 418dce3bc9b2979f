import type { Transaction } from 'kysely'
import type { LoginCodeBody, SecondFactorMethod } from '@sluice/contracts'
import type { DB } from '../database.ts'
import { mailRecoveryCodeUsed } from '../mail/notices.ts'
import { auditThrottled } from './audit-throttled.ts'
import { recoveryCodesLeft } from './second-factor/recovery-codes.ts'
import { useCode } from './second-factor/second-factor.ts'
import { ticketHolder, useTicket } from './second-factor/tickets.ts'
import {
  belongsTo,
  lockUserForSignIn,
  notSignedIn,
  otherOrganisation,
  openSignInSession,
  type SignedIn,
  type SignInContext,
} from './sign-in.ts'
import { admitCode, forgiveAttempt } from './throttle.ts'

/** The names of RFC 8176, which has none for a recovery code. */
const amrOf: Record<SecondFactorMethod, string[]> = { TOTP: ['pwd', 'otp', 'mfa'], RECOVERY_CODE: ['pwd', 'mfa'] }

/**
 * Completes a sign-in for which `signIn` returned a ticket. Throws 401 for an invalid or expired code or ticket; the audit
 * log has the reason. Throws 429 after too many tries. A ticket allows several tries until it expires.
 */
export async function signInWithCode({ ticket, code }: LoginCodeBody, context: SignInContext): Promise<SignedIn> {
  const { db, write, request } = context
  const holder = await ticketHolder(db, ticket)
  // Unknown tickets are neither counted nor audited.
  if (!holder) throw notDone()
  const attempt = await auditThrottled(admitCode(db, holder.uid, request.address), context, async () => holder)

  const result = await write(async (trx) => {
    const by = { user: holder.uid, client: holder.client }
    const result = await complete(trx, holder.id, { ticket, code }, context)
    const refused = typeof result === 'string'
    request.audit(holder.uid, refused ? { outcome: result } : { outcome: 'signed in', session: result.session.uid }, by)
    if (!refused) await forgiveAttempt(trx, attempt)
    return refused ? undefined : result
  })
  if (!result) throw notDone()
  return result
}

/** Uses up the ticket with the first correct code. A wrong code keeps the ticket. */
async function complete(
  trx: Transaction<DB>,
  id: number,
  { ticket, code }: LoginCodeBody,
  context: SignInContext,
): Promise<SignedIn | string> {
  const user = await lockUserForSignIn(trx, id)
  if (!user?.two_factor_auth) return 'changed meanwhile'
  if (!belongsTo(user, context.expectedClient)) return otherOrganisation
  const method = await useCode(trx, id, code, context.config.SECRET_KEYS)
  if (!method) return 'wrong code'
  if (method === 'RECOVERY_CODE')
    await mailRecoveryCodeUsed(trx, context.config, { id, left: await recoveryCodesLeft(trx, id) })
  if (!(await useTicket(trx, ticket))) return 'ticket used'
  return openSignInSession(trx, user, amrOf[method], context)
}

const notDone = () =>
  notSignedIn('The code is not right or was used before, or it took longer than five minutes since the password.')
