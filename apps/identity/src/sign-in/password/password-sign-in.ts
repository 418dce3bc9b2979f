import { sql, type Kysely, type Transaction } from 'kysely'
import type { LoginBody, LoginCodeBody, Role, SecondFactorMethod, UserStatus } from '@sluice/contracts'
import { prepared } from '@sluice/database'
import { Problem, type AuditActor } from '@sluice/http-server'
import type { AuditedWrite } from '@sluice/records'
import type { DB } from '../../database.ts'
import { mailRecoveryCodeUsed } from '../../email/queue-account-emails.ts'
import type { MailConfig } from '../../email/outbox.ts'
import { listCodeMethods, countRecoveryCodes, consumeCode } from '../second-factor/second-factor.ts'
import { issueTicket, findTicketOwner, consumeTicket } from '../second-factor/tickets.ts'
import { startSession, type SessionLifetimes } from '../sessions/sessions.ts'
import {
  countCodeAttempt,
  assertAttemptAllowed,
  auditIfThrottled,
  countAttemptSql,
  clearFailuresAfterSuccess,
  withdrawAttempt,
  type AttemptCount,
  type ThrottleKeys,
} from '../throttle/throttle.ts'
import { toSkeleton } from '../username.ts'
import { verifyPassword } from './password-hashing.ts'

/** The context of a sign-in, from an operation or a page. */
export interface SignInContext {
  db: Kysely<DB>
  write: AuditedWrite<DB>
  config: SessionLifetimes & MailConfig
  request: {
    address: string
    /** Only the first 500 characters are stored. */
    userAgent: string
    audit(object: string | null, details?: object, actor?: AuditActor): void
  }
  /** The uid of the only organisation that may sign in. Other users get the same error as for a wrong password. */
  expectedClient?: string | undefined
  /** Called in the transaction that opens the session. */
  onSessionOpened?(trx: Transaction<DB>, session: SignedIn['session']): Promise<void>
}

export interface SignedIn {
  kind: 'signed-in'
  user: { uid: string; id: number; client: string }
  session: { id: number; uid: string; expires_at: Date }
  /** The authentication methods (RFC 8176). */
  amr: string[]
}

/**
 * The result for a user with a second factor: the password is correct and a code is required. The caller passes the
 * ticket and the code to `signInWithCode`.
 */
export interface SecondFactorRequired {
  kind: 'second-factor'
  ticket: string
  methods: SecondFactorMethod[]
}

/**
 * Signs in with a password. Every refusal is the same 401 and takes the same time, so that it reveals nothing; the
 * audit log has the reason. Throws 429 after too many attempts, and 503 if too many passwords wait to be checked.
 */
export async function signIn(
  { username, password }: LoginBody,
  context: SignInContext,
): Promise<SignedIn | SecondFactorRequired> {
  const { db, write, request, expectedClient } = context
  const { attempt, account } = await countAttemptAndFindAccount(username, context)
  const isPasswordCorrect = await verifyPasswordOrWithdrawAttempt(password, account, db, attempt)
  const refusal = findRefusalReason(account, isPasswordCorrect, expectedClient)
  const acceptedAccount = refusal === undefined ? account : undefined
  // Runs outside the transaction, so that other attempts of this network do not wait for its commit.
  if (acceptedAccount) await clearFailuresAfterSuccess(db, attempt)

  const result = await write(async (trx) => {
    const user = acceptedAccount && (await lockUserWhoMaySignIn(trx, acceptedAccount.id, acceptedAccount.password_hash))
    const sessionOrTicket = user && (await openSessionOrRequireCode(trx, user, context))
    const actor = account && { user: account.uid, client: account.client }
    request.audit(account?.uid ?? null, toAuditOutcome(sessionOrTicket, refusal), actor)
    return sessionOrTicket
  })
  // An error inside `write` would roll back the audit row, so this function throws afterwards.
  if (!result) throw loginProblem('The username or password is incorrect, or the user cannot sign in with a password.')
  return result
}

/** The authentication methods of a completed sign-in. RFC 8176 has no name for a recovery code. */
const amrOf: Record<SecondFactorMethod, string[]> = { TOTP: ['pwd', 'otp', 'mfa'], RECOVERY_CODE: ['pwd', 'mfa'] }

/**
 * Completes a sign-in for which `signIn` returned a ticket. Throws 401 for a wrong code and for an unknown or expired
 * ticket; the audit log has the reason. Throws 429 after too many attempts. A ticket allows several attempts until it
 * expires.
 */
export async function signInWithCode({ ticket, code }: LoginCodeBody, context: SignInContext): Promise<SignedIn> {
  const { db, write, request } = context
  const owner = await findTicketOwner(db, ticket)
  // Unknown tickets are neither counted nor audited, because an attacker can send any number of invented tickets.
  if (!owner) throw codeProblem()
  const attempt = await auditIfThrottled(() => countCodeAttempt(db, owner.uid, request.address), owner, context)

  const signedIn = await write(async (trx) => {
    const result = await consumeCodeAndOpenSession(trx, owner.id, { ticket, code }, context)
    const isRefused = 'refusal' in result
    if (!isRefused) await clearFailuresAfterSuccess(trx, attempt)
    const details = isRefused ? { outcome: result.refusal } : toAuditOutcome(result)
    request.audit(owner.uid, details, { user: owner.uid, client: owner.client })
    return isRefused ? undefined : result
  })
  // An error inside `write` would roll back the audit row, so this function throws afterwards.
  if (!signedIn) throw codeProblem()
  return signedIn
}

/** The user of a username when the attempt was counted. `lockUserWhoMaySignIn` reads the current state. */
interface PasswordAccount {
  id: number
  uid: string
  client: string
  status: UserStatus
  sso_auth: boolean
  password_hash: string | null
  client_disabled: boolean
}

/**
 * Counts the attempt and finds the user in one statement, which takes the same time for an unknown username. The
 * statement returns one row; its columns of the user are null for an unknown username. Throws 429 after too many
 * attempts.
 */
async function countAttemptAndFindAccount(username: string, context: SignInContext) {
  const skeleton = toSkeleton(username)
  const { rows } = await sql<AttemptCount & (PasswordAccount | Record<keyof PasswordAccount, null>)>`
    ${prepared('admit-sign-in')}
    with ${countAttemptSql(skeleton, context.request.address)}, found_user as (
      select users.id, users.uid, users.client, users.status, users.sso_auth, users.password_hash,
        clients.disabled as client_disabled
      from users join clients on clients.uid = users.client where users.username_skeleton = ${skeleton}
    )
    select attempt.*, found_user.* from attempt left join found_user on true`.execute(context.db)
  const row = rows[0]!
  const account: PasswordAccount | undefined = row.id === null ? undefined : row
  const attempt = await auditIfThrottled(() => assertAttemptAllowed(row), account, context)
  return { attempt, account }
}

/**
 * Returns whether the password is correct. If it could not be checked, for example because of overload, removes the
 * counted attempt.
 */
async function verifyPasswordOrWithdrawAttempt(
  password: string,
  account: PasswordAccount | undefined,
  db: Kysely<DB>,
  attempt: ThrottleKeys,
): Promise<boolean> {
  try {
    return await verifyPassword(password, account?.password_hash)
  } catch (error) {
    await withdrawAttempt(db, attempt)
    throw error
  }
}

/** Returns the reason why a user may not sign in, for the audit log; undefined if they may. */
function findRefusalReason(
  account: PasswordAccount | undefined,
  isPasswordCorrect: boolean,
  expectedClient?: string,
): string | undefined {
  if (!account) return 'unknown username'
  if (account.sso_auth) return 'signs in elsewhere'
  if (account.password_hash === null) return 'no password'
  if (!isPasswordCorrect) return 'wrong password'
  if (!isExpectedClient(account, expectedClient)) return otherOrganisation
  if (account.status !== 'ACTIVE') return `status ${account.status}`
  return account.client_disabled ? 'client disabled' : undefined
}

const otherOrganisation = 'of another organisation'
const changedDuringSignIn = 'changed meanwhile'

const isExpectedClient = ({ client }: { client: string }, expected: string | undefined): boolean =>
  expected === undefined || client === expected

interface LockedUser {
  id: number
  uid: string
  client: string
  roles: Role[]
  two_factor_auth: boolean
}

/**
 * Locks the user until the transaction ends, and reads the current row. Returns undefined if the user is not active, if
 * the organisation is disabled, or if the password changed since this request verified it against `verifiedHash`. A
 * request that verified no password, because it completes a sign-in with a code, has no `verifiedHash`; the user must
 * then have a password.
 */
async function lockUserWhoMaySignIn(
  trx: Transaction<DB>,
  id: number,
  verifiedHash?: string | null,
): Promise<LockedUser | undefined> {
  const verifiedPassword = verifiedHash !== undefined
  const isPasswordUnchanged = verifiedPassword
    ? sql`users.password_hash = ${verifiedHash}`
    : sql`users.password_hash is not null`
  const { rows } = await sql<LockedUser>`
    ${prepared(verifiedPassword ? 'lock-signing-in-with-password' : 'lock-signing-in')}
    select users.id, users.uid, users.client, users.roles, users.two_factor_auth
    from users join clients on clients.uid = users.client
    where users.id = ${id} and ${isPasswordUnchanged} and users.status = 'ACTIVE' and not clients.disabled
    for share of users`.execute(trx)
  return rows[0]
}

/**
 * Opens a session for a user without a second factor. Other users get a ticket, which they send together with a code.
 */
async function openSessionOrRequireCode(
  trx: Transaction<DB>,
  user: LockedUser,
  context: SignInContext,
): Promise<SignedIn | SecondFactorRequired> {
  if (!user.two_factor_auth) return openUserSession(trx, user, ['pwd'], context)
  const ticket = await issueTicket(trx, user.id)
  return { kind: 'second-factor', ticket, methods: await listCodeMethods(trx, user.id) }
}

/**
 * Checks the code and the ticket, uses up both, and opens a session. Returns the reason of a refusal instead. After a
 * wrong code the ticket stays valid.
 */
async function consumeCodeAndOpenSession(
  trx: Transaction<DB>,
  id: number,
  { ticket, code }: LoginCodeBody,
  context: SignInContext,
): Promise<SignedIn | { refusal: string }> {
  const user = await lockUserWhoMaySignIn(trx, id)
  if (!user?.two_factor_auth) return { refusal: changedDuringSignIn }
  if (!isExpectedClient(user, context.expectedClient)) return { refusal: otherOrganisation }
  const method = await consumeCode(trx, id, code, context.config.SECRET_KEYS)
  if (!method) return { refusal: 'wrong code' }
  if (method === 'RECOVERY_CODE')
    await mailRecoveryCodeUsed(trx, context.config, { id, left: await countRecoveryCodes(trx, id) })
  if (!(await consumeTicket(trx, ticket))) return { refusal: 'ticket used' }
  return openUserSession(trx, user, amrOf[method], context)
}

/** Opens a session. Runs the caller's code `onSessionOpened` in the same transaction. */
async function openUserSession(
  trx: Transaction<DB>,
  user: LockedUser,
  amr: string[],
  { config, request, onSessionOpened }: SignInContext,
): Promise<SignedIn> {
  const { address, userAgent } = request
  const session = await startSession(trx, { user, lifetimes: config, address, userAgent: userAgent.slice(0, 500), amr })
  await onSessionOpened?.(trx, session)
  return { kind: 'signed-in', user: { uid: user.uid, id: user.id, client: user.client }, session, amr }
}

function toAuditOutcome(result: SignedIn | SecondFactorRequired | undefined, refusal = changedDuringSignIn) {
  if (!result) return { outcome: refusal }
  return result.kind === 'signed-in'
    ? { outcome: 'signed in', session: result.session.uid }
    : { outcome: 'second factor wanted' }
}

const loginProblem = (detail: string) =>
  new Problem(401, 'sign-in-failed', 'Sign-in failed.', { detail, headers: { 'WWW-Authenticate': 'Bearer' } })

const codeProblem = () =>
  loginProblem(
    'The code is incorrect or was already used, or more than five minutes have passed since the password. Enter a new code, or sign in again.',
  )

export const isNotSignedIn = (error: unknown): boolean => error instanceof Problem && error.code === 'sign-in-failed'
