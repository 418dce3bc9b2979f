import { createHash } from 'node:crypto'
import { sql, type Kysely, type RawBuilder } from 'kysely'
import { prepared } from '@sluice/database'
import { Problem, problems } from '@sluice/http-server'
import type { DB } from '../database.ts'
import { networkPrefixOf } from './network-prefix.ts'
import { skeletonOf } from './username.ts'

/** Waits in seconds. After `free` failures each failure doubles the wait, from `first` up to `longest`, never forever. */
export interface ThrottleLimit {
  freeFailures: number
  firstWaitSeconds: number
  maxWaitSeconds: number
  /** A key without tries for this time starts from zero. */
  forgetAfterSeconds: number
}

const perAccount: ThrottleLimit = {
  freeFailures: 5,
  firstWaitSeconds: 5,
  maxWaitSeconds: 300,
  forgetAfterSeconds: 3600,
}
/** The limit per network. It is high because whole offices sign in from one network. Only failures count. */
const perNetwork: ThrottleLimit = {
  freeFailures: 100,
  firstWaitSeconds: 30,
  maxWaitSeconds: 900,
  forgetAfterSeconds: 3600,
}
/**
 * The limit for codes. An attacker who guesses codes already has the password, so the waits are long: about 24 guesses a
 * day with a chance of three in a million each.
 */
const perSecondFactor: ThrottleLimit = {
  freeFailures: 5,
  firstWaitSeconds: 30,
  maxWaitSeconds: 3600,
  forgetAfterSeconds: 86_400,
}

/** The problem 429 with the throttle key. */
export class ThrottledProblem extends Problem {
  readonly key: string

  constructor(seconds: number, key: string) {
    const { status, code, title, message, headers } = problems.tooManyRequests(
      seconds,
      `Too many tries: wait ${seconds} seconds before the next.`,
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
 * Counts a try as a failure before it runs, so that concurrent tries cannot exceed the limits. `forgiveAttempt` takes the
 * count back. Throws 429 if the account or the network has to wait. A try that the network limit rejects is not counted.
 * A try that the account limit rejects still counts for its network.
 *
 * A user's own network (where one of their sessions was opened) has a separate count, so that attackers elsewhere cannot
 * lock the user out.
 */
export async function admitAttempt(db: Kysely<DB>, username: string, address: string): Promise<ThrottleKeys> {
  const { rows } = await sql<AttemptCount>`
    ${prepared('admit-try')}
    with ${countAttemptSql(skeletonOf(username), address)} select ${countedColumns} from ${countedRows}`.execute(db)
  return assertAdmitted(rows[0]!)
}

/** The throttle keys of an attempt (`…_key`) and the seconds to wait (`…_wait`). */
export interface AttemptCount {
  network_key: string
  network_wait: number
  /** Null if the network has to wait, because then the account is not counted. */
  account_key: string | null
  account_wait: number | null
}

const accountKey = (skeleton: string): string => `account:${createHash('sha256').update(skeleton).digest('base64url')}`

/** Returns the counting of `admitAttempt` as WITH parts for larger statements. `countedRows` has one row. */
export function countAttemptSql(skeleton: string, address: string): RawBuilder<unknown> {
  const network = networkPrefixOf(address)
  const account = accountKey(skeleton)
  return sql`
    own as (
      select exists (
        select from sessions
        where user_id = (select id from users where username_skeleton = ${skeleton}) and address_prefix = ${network}
      ) as known
    ), network as (
      ${countFailureSql(sql`select ${`network:${network}`}::text`, perNetwork)}
    ), account as (
      ${countFailureSql(sql`select case when known then ${`${account}@${network}`} else ${account} end from own, network where seconds <= 0`, perAccount)}
    )`
}

/**
 * Returns the counting of several attempts, each of another account, as WITH parts: rows of `who` with their row of
 * `account`. An attempt has no row and is not counted if its network has to wait, or would reach its limit with these
 * attempts; such attempts must be counted one by one. `found` selects the id and further columns of the user with the
 * username `asked.skeleton`. Counts networks before accounts, both in the lock order of `locked`.
 */
export const countAttemptsSql = (
  given: readonly { skeleton: string; address: string }[],
  found: RawBuilder<unknown>,
) => sql`
  asked as (
    select * from unnest(
      ${given.map(({ skeleton }) => skeleton)}::text[], ${given.map(({ skeleton }) => accountKey(skeleton))}::text[],
      ${given.map(({ address }) => networkPrefixOf(address))}::text[]
    ) as asked (skeleton, account, network)
  ), network as (
    ${countFailuresBelowLimitSql(sql`select 'network:' || network, count(*)::integer from asked group by network order by 1 desc`, perNetwork)}
  ), who as materialized (
    select asked.skeleton, network.key as network_key, network.seconds as network_wait, found.*,
      case when exists (select from sessions s where s.user_id = found.id and s.address_prefix = asked.network)
        then account || '@' || network else account end as account_key
    from asked join network on network.key = 'network:' || asked.network
    left join lateral (${found}) as found on true
  ), account as (
    ${countFailureSql(sql`select account_key from who order by account_key desc`, perAccount)}
  )`

export const countedRows = sql`network left join account on true`
export const countedColumns = sql`network.key as network_key, network.seconds as network_wait,
  account.key as account_key, account.seconds as account_wait`

/** Throws 429 if the attempt has to wait. */
export function assertAdmitted({ network_key, network_wait, account_key, account_wait }: AttemptCount): ThrottleKeys {
  const network = { key: network_key, seconds: network_wait }
  if (account_key === null) {
    assertNoWait([network])
    throw new Error('a try that has not to wait was not counted for its account')
  }
  assertNoWait([network, { key: account_key, seconds: account_wait ?? 0 }])
  return { network: network_key, account: account_key }
}

/**
 * Counts a try of a second-factor code like `admitAttempt`. Codes and passwords have separate counts, so neither uses up
 * the tries of the other. The network limit does not apply, because the password already passed it.
 */
export async function admitCode(db: Kysely<DB>, user: string, address: string): Promise<Pick<ThrottleKeys, 'account'>> {
  const key = `second-factor:${user}`
  const network = networkPrefixOf(address)
  const { rows } = await sql<{ key: string; seconds: number }>`
    with own as (
      select exists (
        select from sessions s join users u on u.id = s.user_id where u.uid = ${user} and s.address_prefix = ${network}
      ) as known
    )
    ${countFailureSql(sql`select case when known then ${`${key}@${network}`} else ${key} end from own`, perSecondFactor)}`.execute(
    db,
  )
  assertNoWait(rows)
  return { account: rows[0]!.key }
}

export function assertNoWait(rows: readonly { key: string; seconds: number }[]): void {
  const longest = rows.reduce((one, other) => (other.seconds > one.seconds ? other : one))
  const wait = Math.ceil(longest.seconds)
  if (wait > 0) throw new ThrottledProblem(wait, longest.key)
}

/**
 * Seconds in which an upsert keeps `last_at`. Each change of `last_at` writes to its index, and all tries of a network
 * update one row. An unchanged `last_at` keeps the new row version in the same page, where PostgreSQL prunes old versions.
 */
const lastAtResolutionSeconds = 60

/**
 * Returns one upsert that decides, counts and returns the seconds to wait (0: no wait), under the row's lock. `keys`
 * selects the throttle keys of a try, each once.
 */
export const countFailureSql = (keys: RawBuilder<unknown>, limit: ThrottleLimit) =>
  upsertFailuresSql(sql`select keys.key, 1 from (${keys}) as keys (key)`, limit, () => sql``)

/**
 * Returns the upsert for several tries per key. `tries` selects keys and numbers, which are smaller than the limit. If a
 * try has to wait or the tries reach the limit of a key, the statement neither counts nor returns that key.
 */
const countFailuresBelowLimitSql = (tries: RawBuilder<unknown>, limit: ThrottleLimit) =>
  upsertFailuresSql(
    tries,
    limit,
    (failures) => sql`where a.blocked_until <= now() and ${failures} < ${limit.freeFailures}`,
  )

function upsertFailuresSql(
  tries: RawBuilder<unknown>,
  { freeFailures, firstWaitSeconds, maxWaitSeconds, forgetAfterSeconds }: ThrottleLimit,
  where: (failures: RawBuilder<unknown>) => RawBuilder<unknown>,
): RawBuilder<unknown> {
  const begins = sql`a.last_at < now() - make_interval(secs => ${forgetAfterSeconds + lastAtResolutionSeconds})`
  const failures = sql`case when ${begins} then 0 else a.failures end + excluded.failures`
  return sql`
  insert into sign_in_attempts as a (key, failures, last_at, blocked_until)
  select tries.key, tries.times, now(), '-infinity' from (${tries}) as tries (key, times)
  on conflict (key) do update set
    failures = case when a.blocked_until > now() then a.failures else ${failures} end,
    last_at = case
      when a.blocked_until > now() or a.last_at > now() - make_interval(secs => ${lastAtResolutionSeconds}) then a.last_at
      else now() end,
    blocked_until = case
      when a.blocked_until > now() or ${failures} < ${freeFailures} then a.blocked_until
      else now() + make_interval(secs => least(${maxWaitSeconds}, ${firstWaitSeconds} * 2 ^ least(${failures} - ${freeFailures}, 20))) end
  ${where(failures)}
  returning key, coalesce(greatest(0, extract(epoch from old.blocked_until - now())), 0)::float8 as seconds`
}

/** Resets the account and takes the attempt back from the network. */
export async function forgiveAttempt(
  db: Kysely<DB>,
  { account, network }: Pick<ThrottleKeys, 'account'> & Partial<ThrottleKeys>,
): Promise<void> {
  if (network === undefined) {
    await sql`delete from sign_in_attempts where key = ${account}`.execute(db)
    return
  }
  await sql`
    ${prepared('try-succeeded')}
    with forgotten as (delete from sign_in_attempts where key = ${account})
    ${forgiveNetworkSql(sql`1`, sql`where key = ${network}`)}`.execute(db)
}

/**
 * WITH parts that lock several keys, networks before accounts as when counting, to prevent deadlocks. Uses a list instead of
 * a join, because a join misses rows that were changed while it waited.
 */
const lockKeysSql = (keys: RawBuilder<unknown>) => sql`
  tries as (select key from sign_in_attempts where key = any(${keys}) order by key desc for update),
  locked as (select count(*) from tries)`
const whenLocked = sql`(select count from locked) > 0`

/** `forgiveAttempt` for many attempts, as WITH parts. `forgiven` has rows of `network` and `account`. */
export const forgiveAttemptsSql = (forgiven: RawBuilder<unknown>) => sql`
  ${lockKeysSql(sql`array(select network from ${forgiven} union all select account from ${forgiven})`)},
  networks_forgiven as (
    ${forgiveNetworkSql(
      sql`times`,
      sql`
        from (select network, count(*)::integer as times from ${forgiven} group by network) as counted
        where key = network and ${whenLocked}`,
    )}
  ), accounts_forgotten as (
    delete from sign_in_attempts
    where key = any(array(select account from ${forgiven})) and ${whenLocked}
  )`

const forgiveNetworkSql = (times: RawBuilder<unknown>, which: RawBuilder<unknown>) => sql`
  update sign_in_attempts as a set failures = greatest(failures - ${times}, 0),
    blocked_until = case when failures - ${times} < ${perNetwork.freeFailures} then '-infinity' else blocked_until end
  ${which}`

/** Takes an attempt back that could not be checked because of an outage. */
export async function undoAttempt(db: Kysely<DB>, { account, network }: ThrottleKeys): Promise<void> {
  const keys = [account, network]
  await sql`
    with ${lockKeysSql(sql`${keys}`)}
    update sign_in_attempts set failures = greatest(failures - 1, 0), blocked_until = '-infinity'
    where key = any(${keys}) and ${whenLocked}`.execute(db)
}
