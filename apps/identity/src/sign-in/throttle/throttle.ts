import { createHash } from 'node:crypto'
import { sql, type Kysely, type RawBuilder } from 'kysely'
import { prepared } from '@sluice/database'
import { Problem, problems, type AuditActor } from '@sluice/http-server'
import type { AuditedWrite } from '@sluice/records'
import type { DB } from '../../database.ts'
import { toNetworkPrefix } from './network-prefix.ts'
import { toSkeleton } from '../username.ts'

/**
 * A limit on failures per key. After `freeFailures`, each failure doubles the waiting time, up to `maxWaitSeconds`, so
 * no key is blocked forever.
 */
export interface ThrottleLimit {
  freeFailures: number
  firstWaitSeconds: number
  maxWaitSeconds: number
  /** After this time without an attempt, the count of a key starts from zero. */
  forgetAfterSeconds: number
}

const perAccount: ThrottleLimit = {
  freeFailures: 5,
  firstWaitSeconds: 5,
  maxWaitSeconds: 300,
  forgetAfterSeconds: 3600,
}

/** The limit on failures per network. It is high, because all users of an office may share a network. */
const perNetwork: ThrottleLimit = {
  freeFailures: 100,
  firstWaitSeconds: 30,
  maxWaitSeconds: 900,
  forgetAfterSeconds: 3600,
}

/**
 * The limit on wrong second-factor codes. An attacker who guesses codes already has the password, so the waiting times
 * are long: about 24 guesses a day, each with a chance of three in a million.
 */
const perSecondFactor: ThrottleLimit = {
  freeFailures: 5,
  firstWaitSeconds: 30,
  maxWaitSeconds: 3600,
  forgetAfterSeconds: 86_400,
}

/** A 429 problem with the key of the throttled account or network. */
export class ThrottledProblem extends Problem {
  readonly key: string

  constructor(seconds: number, key: string) {
    const { status, code, title, message, headers } = problems.tooManyRequests(
      seconds,
      `Too many attempts. Try again in ${seconds} seconds.`,
    )
    super(status, code, title, { detail: message, headers })
    this.key = key
  }
}

export interface ThrottleKeys {
  account: string
  network: string
}

/**
 * Counts an attempt as a failure before it runs, so that concurrent attempts cannot exceed the limits.
 * `clearFailuresAfterSuccess` removes the count after a success. Throws 429 if the account or the network has to wait.
 * An attempt that the network limit rejects is not counted. An attempt that the account limit rejects still counts for
 * its network.
 *
 * A network in which the user has a session is the user's own network. Attempts from there have a separate count for
 * the account, with the key `account:…@network`, so that attackers in other networks cannot make the user wait.
 */
export async function countPasswordAttempt(db: Kysely<DB>, username: string, address: string): Promise<ThrottleKeys> {
  const { rows } = await sql<AttemptCount>`
    ${prepared('admit-attempt')}
    with ${countAttemptSql(toSkeleton(username), address)} select * from attempt`.execute(db)
  return assertAttemptAllowed(rows[0]!)
}

/** The throttle keys of an attempt (`…_key`) and the seconds to wait (`…_wait`). */
export interface AttemptCount {
  network_key: string
  network_wait: number
  /** Null while the network has to wait, because such an attempt does not count for the account. */
  account_key: string | null
  account_wait: number | null
}

/**
 * Returns the SQL of `countPasswordAttempt` as common table expressions for a WITH clause:
 *
 * 1. `known_network` says whether the user has signed in from this network before. Such a network has its own counter
 *    for the account, so that attackers elsewhere cannot lock the user out.
 * 2. `network` counts the attempt for the network.
 * 3. `account` counts it for the account. It has no row if the network has to wait.
 * 4. `attempt` has one row with the columns of `AttemptCount`.
 *
 * `skeleton` is the result of `toSkeleton`. The key contains only its hash, so that the table stores no usernames.
 */
export function countAttemptSql(skeleton: string, address: string): RawBuilder<unknown> {
  const network = toNetworkPrefix(address)
  const networkKey = sql`select ${`network:${network}`}::text`
  const account = `account:${createHash('sha256').update(skeleton).digest('base64url')}`
  const accountKey = sql`
    select case when is_known then ${`${account}@${network}`} else ${account} end
    from known_network, network where network.seconds <= 0`
  return sql`
    known_network as (
      select exists (
        select from sessions
        where user_id = (select id from users where username_skeleton = ${skeleton}) and address_prefix = ${network}
      ) as is_known
    ), network as (
      ${countFailureSql(networkKey, perNetwork)}
    ), account as (
      ${countFailureSql(accountKey, perAccount)}
    ), attempt as (
      select network.key as network_key, network.seconds as network_wait,
        account.key as account_key, account.seconds as account_wait
      from network left join account on true
    )`
}

/** Returns the throttle keys of an admitted attempt. Throws 429 if it has to wait. */
export function assertAttemptAllowed({
  network_key,
  network_wait,
  account_key,
  account_wait,
}: AttemptCount): ThrottleKeys {
  const network = { key: network_key, seconds: network_wait }
  if (account_key === null) {
    assertNoWait([network])
    throw new Error('The attempt was admitted but not counted for its account.')
  }
  assertNoWait([network, { key: account_key, seconds: account_wait ?? 0 }])
  return { network: network_key, account: account_key }
}

/**
 * Counts an attempt with a second-factor code like `countPasswordAttempt`. Codes and passwords are counted separately,
 * so neither uses up the attempts of the other. The network limit does not apply, because the password already passed
 * it.
 */
export async function countCodeAttempt(
  db: Kysely<DB>,
  user: string,
  address: string,
): Promise<Pick<ThrottleKeys, 'account'>> {
  const userKey = `second-factor:${user}`
  const network = toNetworkPrefix(address)
  // A network in which the user has signed in before has its own counter, as in `countAttemptSql`.
  const key = sql`select case when is_known then ${`${userKey}@${network}`} else ${userKey} end from known_network`
  const { rows } = await sql<{ key: string; seconds: number }>`
    with known_network as (
      select exists (
        select from sessions join users on users.id = sessions.user_id
        where users.uid = ${user} and sessions.address_prefix = ${network}
      ) as is_known
    )
    ${countFailureSql(key, perSecondFactor)}`.execute(db)
  assertNoWait(rows)
  return { account: rows[0]!.key }
}

/** Throws 429 with the longest waiting time if one of the keys has to wait. */
export function assertNoWait(rows: readonly { key: string; seconds: number }[]): void {
  const [longest] = rows.toSorted((a, b) => b.seconds - a.seconds)
  const waitSeconds = Math.ceil(longest!.seconds)
  if (waitSeconds > 0) throw new ThrottledProblem(waitSeconds, longest!.key)
}

/**
 * For this many seconds, an upsert leaves `last_at` unchanged. All attempts of a network update one row. While the
 * indexed column `last_at` is unchanged, PostgreSQL can store the new row version in the same page without index writes
 * (HOT update).
 */
const lastAtResolutionSeconds = 60

/**
 * Returns an upsert that counts a failure for each key that does not have to wait. It returns a row for each key, with
 * the `seconds` that the key had to wait before this failure (0: none). Row locks make it safe for concurrent attempts.
 * `keys` is a query of distinct throttle keys.
 */
export function countFailureSql(
  keys: RawBuilder<unknown>,
  { freeFailures, firstWaitSeconds, maxWaitSeconds, forgetAfterSeconds }: ThrottleLimit,
): RawBuilder<unknown> {
  const isWaiting = sql`attempts.blocked_until > now()`
  const isForgotten = sql`
    attempts.last_at < now() - make_interval(secs => ${forgetAfterSeconds + lastAtResolutionSeconds})`
  const isCountedRecently = sql`attempts.last_at > now() - make_interval(secs => ${lastAtResolutionSeconds})`
  const failures = sql`case when ${isForgotten} then 0 else attempts.failures end + 1`
  // The exponent is limited, so that the power stays in the range of the type.
  const doublings = sql`least(${failures} - ${freeFailures}, 20)`
  const waitSeconds = sql`least(${maxWaitSeconds}, ${firstWaitSeconds} * 2 ^ ${doublings})`
  return sql`
  insert into sign_in_attempts as attempts (key, failures, last_at, blocked_until)
  select keys.key, 1, now(), '-infinity' from (${keys}) as keys (key)
  on conflict (key) do update set
    failures = case when ${isWaiting} then attempts.failures else ${failures} end,
    last_at = case when ${isWaiting} or ${isCountedRecently} then attempts.last_at else now() end,
    blocked_until = case
      when ${isWaiting} or ${failures} < ${freeFailures} then attempts.blocked_until
      else now() + make_interval(secs => ${waitSeconds}) end
  returning key, coalesce(greatest(0, extract(epoch from old.blocked_until - now())), 0)::float8 as seconds`
}

/**
 * Deletes the account's failures after a successful attempt, and subtracts the attempt from the network's failures. An
 * attempt with a second-factor code has no `network`.
 */
export async function clearFailuresAfterSuccess(
  db: Kysely<DB>,
  { account, network }: Pick<ThrottleKeys, 'account'> & Partial<ThrottleKeys>,
): Promise<void> {
  const deletion = sql`delete from sign_in_attempts where key = ${account}`
  if (network === undefined) {
    await deletion.execute(db)
    return
  }
  await sql`
    ${prepared('forgive-attempt')}
    with deleted_account as (${deletion})
    update sign_in_attempts set failures = greatest(failures - 1, 0),
      blocked_until = case when failures - 1 < ${perNetwork.freeFailures} then '-infinity' else blocked_until end
    where key = ${network}`.execute(db)
}

/** Subtracts a successful attempt from the failures of its network. */
export async function subtractFailure(db: Kysely<DB>, key: string): Promise<void> {
  await sql`update sign_in_attempts set failures = greatest(failures - 1, 0) where key = ${key}`.execute(db)
}

/**
 * Removes a counted attempt if the password could not be checked, for example because of overload. Locks the network's
 * row before the account's row, in the order of `countAttemptSql`, which prevents deadlocks ('network:' sorts after
 * 'account:').
 */
export async function withdrawAttempt(db: Kysely<DB>, { account, network }: ThrottleKeys): Promise<void> {
  const keys = [account, network]
  // PostgreSQL skips a SELECT in WITH that nothing reads. The update counts its rows, so the rows are locked first.
  await sql`
    with locked as (select key from sign_in_attempts where key = any(${keys}) order by key desc for update)
    update sign_in_attempts set failures = greatest(failures - 1, 0), blocked_until = '-infinity'
    where key = any(${keys}) and (select count(*) from locked) > 0`.execute(db)
}

interface ThrottleAuditContext {
  db: Kysely<DB>
  write: AuditedWrite<DB>
  request: { audit(object: string | null, details?: object, actor?: AuditActor): void }
}

/**
 * Runs `countAttempt` and returns its result. If it throws 429, writes an audit row, at most one per minute and
 * throttle key: the audit log thus shows repeated guessing, and an attacker cannot fill it. `account` is the user that
 * the attempt is for.
 */
export async function auditIfThrottled<T>(
  countAttempt: () => T | Promise<T>,
  account: { uid: string; client: string } | undefined,
  { db, write, request }: ThrottleAuditContext,
): Promise<T> {
  try {
    return await countAttempt()
  } catch (error) {
    if (error instanceof ThrottledProblem && (await claimAuditSlotOfMinute(db, error.key))) {
      // A key starts with its kind, such as `account:` or `network:`.
      const [throttleKind] = error.key.split(':')
      const details = { outcome: 'too many tries', of: throttleKind }
      const actor = account && { user: account.uid, client: account.client }
      await write(async () => request.audit(account?.uid ?? null, details, actor))
    }
    throw error
  }
}

/**
 * Returns true for only one of several calls per minute and key. The row is in the table of attempts, where maintenance
 * deletes it.
 */
async function claimAuditSlotOfMinute(db: Kysely<DB>, key: string): Promise<boolean> {
  const { rows } = await sql`
    insert into sign_in_attempts as attempts (key, failures, last_at, blocked_until)
    values (${`noted ${key}`}, 0, now(), '-infinity')
    on conflict (key) do update set last_at = now() where attempts.last_at <= now() - interval '1 minute'
    returning true`.execute(db)
  return rows.length > 0
}
