import { type Kysely, sql, type Transaction } from 'kysely'
import type { ProofBody } from '@sluice/contracts'
import { transaction } from '@sluice/database'
import { type Caller, problems } from '@sluice/http-server'
import type { DB } from '../../database.ts'
import { mailRecoveryCodeUsed } from '../../email/queue-account-emails.ts'
import { verifyPassword } from '../../sign-in/password/password-hashing.ts'
import { countRecoveryCodes, consumeCode } from '../../sign-in/second-factor/second-factor.ts'
import {
  countPasswordAttempt,
  countCodeAttempt,
  auditIfThrottled,
  clearFailuresAfterSuccess,
  withdrawAttempt,
} from '../../sign-in/throttle/throttle.ts'
import type { IdentityRequestContext } from '../operation-context.ts'

interface OwnUser {
  id: number
  name: string
  username: string
  email: string
  client_name: string
  client_code: string
  password_hash: string | null
  sso_auth: boolean
  two_factor_auth: boolean
}

/** Returns the caller's user. Throws 404 if the user was deleted after the request was authenticated. */
export const readOwnUser = (db: Kysely<DB>, caller: Caller): Promise<OwnUser> => selectOwnUser(db, caller, sql``)

/** Returns the caller's user and locks the row until the transaction ends. */
export const lockOwnUser = (trx: Transaction<DB>, caller: Caller): Promise<OwnUser> =>
  selectOwnUser(trx, caller, sql`for update of users`)

async function selectOwnUser(db: Kysely<DB>, { uid }: Caller, locking: ReturnType<typeof sql>): Promise<OwnUser> {
  const { rows } = await sql<OwnUser>`
    select users.id, users.name, users.username, users.email, users.password_hash, users.sso_auth, users.two_factor_auth,
      clients.name as client_name, clients.code as client_code
    from users join clients on clients.uid = users.client where users.uid = ${uid} ${locking}`.execute(db)
  if (!rows[0]) throw problems.notFound('user')
  return rows[0]
}

/** Locks and returns the caller's user. A successful proof of identity returns this function. */
type LockProvenUser = (trx: Transaction<DB>) => Promise<OwnUser>

/**
 * Verifies the caller's password or code again, because an unattended open session is not enough proof. Hashing and
 * throttling happen here; the returned function runs inside the transaction of the change. Throws 422 for a wrong
 * password or code, and 429 after too many tries. These tries and sign-in tries share one limit.
 */
export const proveIdentity = ({ password, code }: ProofBody, input: IdentityRequestContext): Promise<LockProvenUser> =>
  password === undefined ? proveByCode(code ?? '', input) : proveByPassword(password, input)

/**
 * Verifies the caller's password. Throws 422 at the JSON pointer `pointer` for a wrong password, and 429 after too many
 * tries. The returned function throws 422 if the password has been changed since.
 */
export async function proveByPassword(
  password: string,
  input: IdentityRequestContext,
  pointer = '/password',
): Promise<LockProvenUser> {
  const { db, caller, request } = input
  const { username, password_hash } = await readOwnUser(db, caller)
  const attempt = await auditIfThrottled(() => countPasswordAttempt(db, username, request.address), caller, input)
  const isCorrect = await verifyPassword(password, password_hash).catch(async (error: unknown) => {
    // The password could not be checked, for example because of overload, so the attempt must not count.
    await withdrawAttempt(db, attempt)
    throw error
  })
  if (!isCorrect)
    throw await auditRefusal(
      input,
      'wrong password',
      pointer,
      'The password is incorrect. Enter your current password.',
    )
  await clearFailuresAfterSuccess(db, attempt)
  return async (trx) => {
    const user = await lockOwnUser(trx, caller)
    if (user.password_hash !== password_hash)
      throw problems.refused(pointer, 'Your password was changed by another request. Enter the new one.')
    return user
  }
}

/**
 * Verifies a code of the caller's second factor. The code counts as used even if the change fails later. Throws 422 at
 * `/code` for a wrong code, and 429 after too many tries.
 */
async function proveByCode(code: string, input: IdentityRequestContext): Promise<LockProvenUser> {
  const { db, caller, config, request } = input
  const { id } = await readOwnUser(db, caller)
  const attempt = await auditIfThrottled(() => countCodeAttempt(db, caller.uid, request.address), caller, input)
  const isCorrect = await transaction(db, async (trx) => {
    const method = await consumeCode(trx, id, code, config.SECRET_KEYS)
    if (method === 'RECOVERY_CODE')
      await mailRecoveryCodeUsed(trx, config, { id, left: await countRecoveryCodes(trx, id) })
    return method !== undefined
  })
  if (!isCorrect)
    throw await auditRefusal(
      input,
      'wrong code',
      '/code',
      'The code is incorrect or has already been used. Enter a new code.',
    )
  await clearFailuresAfterSuccess(db, attempt)
  return (trx) => lockOwnUser(trx, caller)
}

/** Writes an audit row for a wrong password or code, as a sign-in does. Returns the error to throw. */
async function auditRefusal(
  { write, caller, request }: IdentityRequestContext,
  outcome: string,
  pointer: string,
  detail: string,
) {
  await write(async () => request.audit(caller.uid, { outcome }))
  return problems.refused(pointer, detail)
}

/** The maximum age of a sign-in that counts as recent, in minutes. */
const recentSignInMinutes = 15

/**
 * Verifies the caller's identity by password or code, like `proveIdentity`. A caller who has neither a password nor a
 * second factor here, because they use single sign-on, needs a recent sign-in instead. Throws 422 if password and code
 * are missing, or if the sign-in is too old. Also throws the errors of `proveIdentity`.
 */
export async function proveIdentityOrRecentSignIn(
  { password, code }: Partial<ProofBody>,
  input: IdentityRequestContext,
): Promise<LockProvenUser> {
  const user = await readOwnUser(input.db, input.caller)
  const hasPassword = !user.sso_auth && user.password_hash !== null
  if (!hasPassword && !user.two_factor_auth) return proveByRecentSignIn(input)
  if (password !== undefined) return proveByPassword(password, input)
  if (code !== undefined) return proveByCode(code, input)
  throw problems.refused('/password', 'Confirm your identity with your password or a code of your second factor.')
}

/** Throws 422 if the caller's session started too long ago. */
async function proveByRecentSignIn({ db, caller }: IdentityRequestContext): Promise<LockProvenUser> {
  const { rows } = await sql`
    select from sessions
    where uid = ${caller.session} and created_at > now() - make_interval(mins => ${recentSignInMinutes})`.execute(db)
  if (rows.length === 0)
    throw problems.refused(
      '/',
      `You signed in more than ${recentSignInMinutes} minutes ago. Sign in again, then retry.`,
    )
  return (trx) => lockOwnUser(trx, caller)
}
