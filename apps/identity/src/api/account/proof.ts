import { type Transaction, sql } from 'kysely'
import type { ProofBody } from '@sluice/contracts'
import { transaction } from '@sluice/database'
import { problems } from '@sluice/http'
import type { DB } from '../../database.ts'
import { mailRecoveryCodeUsed } from '../../mail/notices.ts'
import { auditThrottled } from '../../sign-in/audit-throttled.ts'
import { verifyPassword } from '../../sign-in/password.ts'
import { recoveryCodesLeft } from '../../sign-in/second-factor/recovery-codes.ts'
import { useCode } from '../../sign-in/second-factor/second-factor.ts'
import { admitCode, admitAttempt, forgiveAttempt, undoAttempt } from '../../sign-in/throttle.ts'
import type { IdentityRequestContext } from '../operation.ts'
import { type OwnUser, lockOwnUser, readOwnUser } from './own-user.ts'

/** Locks the user who asks, once they proved to be at hand. */
export type ProvenUserLock = (trx: Transaction<DB>) => Promise<OwnUser>

/**
 * Has the user who asks prove again who they are, by their password or by a code: a session that somebody found open is not
 * enough. What is costly or counted happens here; the answer goes on inside the transaction of the change. Throws 422 for
 * what does not prove it, and 429 after too many tries, which count together with those of signing in.
 */
export const proveIdentity = ({ password, code }: ProofBody, input: IdentityRequestContext): Promise<ProvenUserLock> =>
  password === undefined ? proveByCode(code ?? '', input) : proveByPassword(password, input)

/** Proves the identity by password only. `pointer` names the field. */
export async function proveByPassword(
  password: string,
  input: IdentityRequestContext,
  pointer = '/password',
): Promise<ProvenUserLock> {
  const { db, caller, request } = input
  const { username, password_hash } = await readOwnUser(db, caller)
  const attempt = await auditThrottled(admitAttempt(db, username, request.address), input, async () => caller)
  const right = await verifyPassword(password, password_hash).catch(async (error: unknown) => {
    await undoAttempt(db, attempt)
    throw error
  })
  if (!right) throw await refused(input, 'wrong password', pointer, 'This is not your password.')
  await forgiveAttempt(db, attempt)
  return async (trx) => {
    const user = await lockOwnUser(trx, caller)
    if (user.password_hash !== password_hash)
      throw problems.refused(pointer, 'Your password was changed by another request.')
    return user
  }
}

/** The code is used up here, whatever becomes of the change. */
async function proveByCode(code: string, input: IdentityRequestContext): Promise<ProvenUserLock> {
  const { db, caller, config, request } = input
  const { id } = await readOwnUser(db, caller)
  const attempt = await auditThrottled(admitCode(db, caller.uid, request.address), input, async () => caller)
  const right = await transaction(db, async (trx) => {
    const method = await useCode(trx, id, code, config.SECRET_KEYS)
    if (method === 'RECOVERY_CODE')
      await mailRecoveryCodeUsed(trx, config, { id, left: await recoveryCodesLeft(trx, id) })
    return method !== undefined
  })
  if (!right) throw await refused(input, 'wrong code', '/code', 'This code is not right, or was used before.')
  await forgiveAttempt(db, attempt)
  return (trx) => lockOwnUser(trx, caller)
}

/** Audits wrong guesses in an open session like those of a sign-in. */
async function refused(
  { write, caller, request }: IdentityRequestContext,
  outcome: string,
  pointer: string,
  detail: string,
) {
  await write(async () => request.audit(caller.uid, { outcome }))
  return problems.refused(pointer, detail)
}

/** Minutes. */
const fresh = 15

/**
 * Has the user who asks prove again who they are, as `prove` does. Whoever signs in through their organisation and has no
 * second factor here has nothing to prove it with: they must have signed in just now. Throws 422 besides what `prove` throws.
 */
export async function proveIdentityUnlessFresh(
  { password, code }: Partial<ProofBody>,
  input: IdentityRequestContext,
): Promise<ProvenUserLock> {
  const { db, caller } = input
  const own = await readOwnUser(db, caller)
  const canProve = own.two_factor_auth || (!own.sso_auth && own.password_hash !== null)
  if (canProve && password === undefined && code === undefined)
    throw problems.refused('/password', 'Prove that it is you: with your password, or a code of your second factor.')
  if (canProve)
    return proveIdentity({ ...(password !== undefined && { password }), ...(code !== undefined && { code }) }, input)
  const { rows } = await sql`
    select from sessions
    where uid = ${caller.session} and created_at > now() - make_interval(mins => ${fresh})`.execute(db)
  if (rows.length === 0)
    throw problems.refused('/', `You signed in more than ${fresh} minutes ago: sign in again, then do this.`)
  return (trx) => lockOwnUser(trx, caller)
}
