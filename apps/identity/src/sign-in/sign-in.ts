import { sql, type Kysely, type Transaction } from 'kysely'
import type { LoginBody, Role, SecondFactorMethod } from '@sluice/contracts'
import { prepared } from '@sluice/database'
import { Problem, type AuditActor } from '@sluice/http-server'
import type { AuditedWrite } from '@sluice/records'
import type { DB } from '../database.ts'
import type { MailConfig } from '../mail/outbox.ts'
import { countAttempt, type SignInAccount } from './count-attempt.ts'
import { auditThrottled } from './audit-throttled.ts'
import { verifyPassword } from './password.ts'
import { methodsOf } from './second-factor/second-factor.ts'
import { issueTicket } from './second-factor/tickets.ts'
import { openSession, type SessionLives } from './sessions.ts'
import { assertAdmitted, forgiveAttempt, undoAttempt, type ThrottleKeys } from './throttle.ts'
import { skeletonOf } from './username.ts'

/** The context of a sign-in, from an operation or a page. */
export interface SignInContext {
  db: Kysely<DB>
  write: AuditedWrite<DB>
  config: SessionLives & MailConfig
  request: {
    address: string
    /** Any text; the first 500 characters are kept. */
    userAgent: string
    audit(object: string | null, details?: object, by?: AuditActor): void
  }
  /** Restricts the sign-in to users of this client. Others are refused as if the password were wrong. */
  expectedClient?: string
  onSessionOpened?(trx: Transaction<DB>, session: SignedIn['session']): Promise<void>
}

export interface SignedIn {
  kind: 'signed-in'
  user: { uid: string; id: number; client: string }
  session: { id: number; uid: string; expires_at: Date }
  /** The authentication methods (RFC 8176). */
  amr: string[]
}

/** The password is correct and the user also needs a code. `signInWithCode` takes the ticket and the code. */
export interface SecondFactorRequired {
  kind: 'second-factor'
  ticket: string
  methods: SecondFactorMethod[]
}

/**
 * Signs in with a password. The response (401) and its time are the same for every reason; the audit log has the reason.
 * Throws 429 after too many tries.
 */
export async function signIn(
  { username, password }: LoginBody,
  context: SignInContext,
): Promise<SignedIn | SecondFactorRequired> {
  const { db, write, request } = context
  const { attempt, account } = await admitSignIn(username, context)
  const right = await verifyCountedPassword(password, account, db, attempt)
  const refusal = account ? refusalOf(account, right, context.expectedClient) : 'unknown username'
  // Outside the transaction, so that other attempts of this network do not wait for it.
  if (refusal === undefined) await forgiveAttempt(db, attempt)

  const result = await write(async (trx) => {
    const by = account && { user: account.uid, client: account.client }
    const user =
      refusal === undefined && account ? await lockUserForSignIn(trx, account.id, account.password_hash) : undefined
    const result =
      user &&
      (user.two_factor_auth
        ? await requireSecondFactor(trx, user)
        : await openSignInSession(trx, user, ['pwd'], context))
    request.audit(account?.uid ?? null, outcomeOf(result, refusal), by)
    return result
  })
  if (!result) throw notSignedIn('The username or the password is not right, or this user may not sign in this way.')
  return result
}

function outcomeOf(result: SignedIn | SecondFactorRequired | undefined, refusal: string | undefined) {
  if (!result) return { outcome: refusal ?? 'changed meanwhile' }
  return result.kind === 'signed-in'
    ? { outcome: 'signed in', session: result.session.uid }
    : { outcome: 'second factor wanted' }
}

/** Counts the attempt and finds the account in one statement. Throws 429 if the attempt has to wait. */
async function admitSignIn(
  username: string,
  context: SignInContext,
): Promise<{ attempt: ThrottleKeys; account: SignInAccount | undefined }> {
  const row = await countAttempt(context.db, skeletonOf(username), context.request.address)
  const account = row.id === null ? undefined : row
  const attempt = await auditThrottled(
    Promise.try(() => assertAdmitted(row)),
    context,
    async () => account,
  )
  return { attempt, account }
}

/** An overload error does not count as a failed attempt. */
async function verifyCountedPassword(
  password: string,
  account: SignInAccount | undefined,
  db: Kysely<DB>,
  attempt: ThrottleKeys,
): Promise<boolean> {
  try {
    return await verifyPassword(password, account?.password_hash)
  } catch (error) {
    await undoAttempt(db, attempt)
    throw error
  }
}

function refusalOf(
  { client, status, sso_auth, password_hash, disabled }: SignInAccount,
  right: boolean,
  of: string | undefined,
): string | undefined {
  if (sso_auth) return 'signs in elsewhere'
  if (password_hash === null) return 'no password'
  if (!right) return 'wrong password'
  if (!belongsTo({ client }, of)) return otherOrganisation
  if (status !== 'ACTIVE') return `status ${status}`
  return disabled ? 'client disabled' : undefined
}

export const otherOrganisation = 'of another organisation'
export const belongsTo = ({ client }: { client: string }, of: string | undefined): boolean =>
  of === undefined || client === of

interface LockedUser {
  id: number
  uid: string
  client: string
  roles: Role[]
  two_factor_auth: boolean
}

/**
 * Reads the user again if they may still sign in, and locks the row until the transaction ends, to detect a password or
 * status that changed during the check. `passwordHash`: the verified hash; undefined if no password was verified just now.
 */
export async function lockUserForSignIn(
  trx: Transaction<DB>,
  id: number,
  passwordHash?: string | null,
): Promise<LockedUser | undefined> {
  const same = passwordHash === undefined ? sql`u.password_hash is not null` : sql`u.password_hash = ${passwordHash}`
  const { rows } = await sql<LockedUser>`
    ${prepared(passwordHash === undefined ? 'lock-signing-in' : 'lock-signing-in-with-password')}
    select u.id, u.uid, u.client, u.roles, u.two_factor_auth from users u join clients c on c.uid = u.client
    where u.id = ${id} and ${same} and u.status = 'ACTIVE' and not c.disabled
    for share of u`.execute(trx)
  return rows[0]
}

/** Opens the session of a sign-in that is complete. */
export async function openSignInSession(
  trx: Transaction<DB>,
  user: LockedUser,
  amr: string[],
  { config, request, onSessionOpened }: SignInContext,
): Promise<SignedIn> {
  const userAgent = truncateUserAgent(request.userAgent)
  const session = await openSession(trx, { user, lives: config, address: request.address, userAgent, amr })
  await onSessionOpened?.(trx, session)
  return { kind: 'signed-in', user: { uid: user.uid, id: user.id, client: user.client }, session, amr }
}

const truncateUserAgent = (userAgent: string): string => userAgent.slice(0, 500)

async function requireSecondFactor(trx: Transaction<DB>, { id }: LockedUser): Promise<SecondFactorRequired> {
  return { kind: 'second-factor', ticket: await issueTicket(trx, id), methods: await methodsOf(trx, id) }
}

export const notSignedIn = (detail: string) =>
  new Problem(401, 'sign-in-failed', 'You are not signed in.', { detail, headers: { 'WWW-Authenticate': 'Bearer' } })

export const isNotSignedIn = (error: unknown): boolean => error instanceof Problem && error.code === 'sign-in-failed'
