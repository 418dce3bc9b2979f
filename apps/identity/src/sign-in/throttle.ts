import { createHash } from 'node:crypto'
import { sql, type Kysely, type RawBuilder } from 'kysely'
import { prepared } from '@sluice/database'
import { Problem, problems } from '@sluice/http'
import type { DB } from '../database.ts'
import { prefixOf } from './network-prefix.ts'
import { skeletonOf } from './username.ts'

/** Seconds. After `free` failures each further one doubles the wait, from `first` up to `longest`: never for good. */
export interface Limit {
  free: number
  first: number
  longest: number
  /** A key that was left alone this long begins anew. */
  forget: number
}

const perAccount: Limit = { free: 5, first: 5, longest: 300, forget: 3600 }
/** Whole offices sign in from one network, and only failures count. */
const perNetwork: Limit = { free: 100, first: 30, longest: 900, forget: 3600 }
/** Whoever guesses codes has the password already, so the waits are long: about 24 guesses a day at three in a million. */
const perSecondFactor: Limit = { free: 5, first: 30, longest: 3600, forget: 86_400 }

/** 429, for what is counted under a key. */
export class Throttled extends Problem {
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

export interface Attempt {
  account: string
  network: string
}

/**
 * Counts a try as a failure before it is made, so that no number of parallel tries gets past the limits: `succeeded` takes
 * it back. Throws 429 when the account or the network has to wait. A try that has to wait for its network counts nowhere; one
 * that has to wait for its account still counts for its network.
 *
 * A user's own network (where one of their sessions was opened) is counted apart from the rest of the world, so that
 * strangers cannot keep them out.
 */
export async function admitTry(db: Kysely<DB>, username: string, address: string): Promise<Attempt> {
  const { rows } = await sql<TryCounted>`
    ${prepared('admit-try')}
    with ${tryCounted(skeletonOf(username), address)} select ${triedColumns} from ${tried}`.execute(db)
  return admitted(rows[0]!)
}

/** What was counted of a try: `…_key` what under, `…_wait` how many seconds there are to wait. */
export interface TryCounted {
  network_key: string
  network_wait: number
  /** Null where the network has to wait: then the account is not counted. */
  account_key: string | null
  account_wait: number | null
}

const accountKey = (skeleton: string): string => `account:${createHash('sha256').update(skeleton).digest('base64url')}`

/** The counting of `admitTry` as parts of a statement's WITH, for whoever asks for more in it: one row of `tried`. */
export function tryCounted(skeleton: string, address: string): RawBuilder<unknown> {
  const network = prefixOf(address)
  const account = accountKey(skeleton)
  return sql`
    own as (
      select exists (
        select from sessions
        where user_id = (select id from users where username_skeleton = ${skeleton}) and address_prefix = ${network}
      ) as known
    ), network as (
      ${counted(sql`select ${`network:${network}`}::text`, perNetwork)}
    ), account as (
      ${counted(sql`select case when known then ${`${account}@${network}`} else ${account} end from own, network where seconds <= 0`, perAccount)}
    )`
}

/**
 * The same of many, each of another account: rows of `who`, with their row of `account`. Whose network has to wait,
 * or would come to its limit with them, has none, and is not counted: they have to be one by one. `found` selects the id, and
 * what else is wanted, of the user whose username is `asked.skeleton`. Networks before accounts, and both in the order in which
 * `locked` takes them.
 */
export const triesCounted = (
  given: readonly { skeleton: string; address: string }[],
  found: RawBuilder<unknown>,
) => sql`
  asked as (
    select * from unnest(
      ${given.map(({ skeleton }) => skeleton)}::text[], ${given.map(({ skeleton }) => accountKey(skeleton))}::text[],
      ${given.map(({ address }) => prefixOf(address))}::text[]
    ) as asked (skeleton, account, network)
  ), network as (
    ${countedBelow(sql`select 'network:' || network, count(*)::integer from asked group by network order by 1 desc`, perNetwork)}
  ), who as materialized (
    select asked.skeleton, network.key as network_key, network.seconds as network_wait, found.*,
      case when exists (select from sessions s where s.user_id = found.id and s.address_prefix = asked.network)
        then account || '@' || network else account end as account_key
    from asked join network on network.key = 'network:' || asked.network
    left join lateral (${found}) as found on true
  ), account as (
    ${counted(sql`select account_key from who order by account_key desc`, perAccount)}
  )`

export const tried = sql`network left join account on true`
export const triedColumns = sql`network.key as network_key, network.seconds as network_wait,
  account.key as account_key, account.seconds as account_wait`

/** Throws 429 for a try that has to wait. */
export function admitted({ network_key, network_wait, account_key, account_wait }: TryCounted): Attempt {
  const network = { key: network_key, seconds: network_wait }
  if (account_key === null) {
    demandNoWait([network])
    throw new Error('a try that has not to wait was not counted for its account')
  }
  demandNoWait([network, { key: account_key, seconds: account_wait ?? 0 }])
  return { network: network_key, account: account_key }
}

/**
 * The same for codes of a user's second factor, counted apart from passwords: neither uses up the tries of the other. Who
 * tries them has passed the network's limit with a password.
 */
export async function admitCode(db: Kysely<DB>, user: string, address: string): Promise<Pick<Attempt, 'account'>> {
  const key = `second-factor:${user}`
  const network = prefixOf(address)
  const { rows } = await sql<{ key: string; seconds: number }>`
    with own as (
      select exists (
        select from sessions s join users u on u.id = s.user_id where u.uid = ${user} and s.address_prefix = ${network}
      ) as known
    )
    ${counted(sql`select case when known then ${`${key}@${network}`} else ${key} end from own`, perSecondFactor)}`.execute(
    db,
  )
  demandNoWait(rows)
  return { account: rows[0]!.key }
}

export function demandNoWait(rows: readonly { key: string; seconds: number }[]): void {
  const longest = rows.reduce((one, other) => (other.seconds > one.seconds ? other : one))
  const wait = Math.ceil(longest.seconds)
  if (wait > 0) throw new Throttled(wait, longest.key)
}

/**
 * Seconds in which `last_at` is left as it is: it has an index, which every change of it writes to, and the tries of a whole
 * network change one row. With it alone, the row stays in its page, and what it was is cleared away as it goes.
 */
const resting = 60

/**
 * One upsert that decides, counts and answers how many seconds to wait (0: go ahead), under the row's lock. `keys` selects
 * what a try is counted under, each once.
 */
export const counted = (keys: RawBuilder<unknown>, limit: Limit) =>
  upsert(sql`select keys.key, 1 from (${keys}) as keys (key)`, limit, () => sql``)

/**
 * The same for several tries of each: `tries` selects keys and numbers, which are smaller than the limit. Where somebody has to
 * wait or the limit is reached with them, nothing is counted or answered of that key.
 */
const countedBelow = (tries: RawBuilder<unknown>, limit: Limit) =>
  upsert(tries, limit, (failures) => sql`where a.blocked_until <= now() and ${failures} < ${limit.free}`)

function upsert(
  tries: RawBuilder<unknown>,
  { free, first, longest, forget }: Limit,
  where: (failures: RawBuilder<unknown>) => RawBuilder<unknown>,
): RawBuilder<unknown> {
  const begins = sql`a.last_at < now() - make_interval(secs => ${forget + resting})`
  const failures = sql`case when ${begins} then 0 else a.failures end + excluded.failures`
  return sql`
  insert into sign_in_attempts as a (key, failures, last_at, blocked_until)
  select tries.key, tries.times, now(), '-infinity' from (${tries}) as tries (key, times)
  on conflict (key) do update set
    failures = case when a.blocked_until > now() then a.failures else ${failures} end,
    last_at = case
      when a.blocked_until > now() or a.last_at > now() - make_interval(secs => ${resting}) then a.last_at
      else now() end,
    blocked_until = case
      when a.blocked_until > now() or ${failures} < ${free} then a.blocked_until
      else now() + make_interval(secs => least(${longest}, ${first} * 2 ^ least(${failures} - ${free}, 20))) end
  ${where(failures)}
  returning key, coalesce(greatest(0, extract(epoch from old.blocked_until - now())), 0)::float8 as seconds`
}

/** The account begins anew; the network gets this one try back. */
export async function succeeded(
  db: Kysely<DB>,
  { account, network }: Pick<Attempt, 'account'> & Partial<Attempt>,
): Promise<void> {
  if (network === undefined) {
    await sql`delete from sign_in_attempts where key = ${account}`.execute(db)
    return
  }
  await sql`
    ${prepared('try-succeeded')}
    with forgotten as (delete from sign_in_attempts where key = ${account})
    ${networkForgiven(sql`1`, sql`where key = ${network}`)}`.execute(db)
}

/**
 * Locks what is counted under several keys, networks before accounts, as those who count do, so that nobody waits in a ring.
 * Parts of a WITH. By a list and not by a join, which misses a row that somebody else changed while it was waited for.
 */
const locked = (keys: RawBuilder<unknown>) => sql`
  tries as (select key from sign_in_attempts where key = any(${keys}) order by key desc for update),
  locked as (select count(*) from tries)`
const whenLocked = sql`(select count from locked) > 0`

/** What `succeeded` does, for many and as parts of a statement that does more: `forgiven` is their rows of `network` and `account`. */
export const triesForgiven = (forgiven: RawBuilder<unknown>) => sql`
  ${locked(sql`array(select network from ${forgiven} union all select account from ${forgiven})`)},
  networks_forgiven as (
    ${networkForgiven(
      sql`times`,
      sql`
        from (select network, count(*)::integer as times from ${forgiven} group by network) as counted
        where key = network and ${whenLocked}`,
    )}
  ), accounts_forgotten as (
    delete from sign_in_attempts
    where key = any(array(select account from ${forgiven})) and ${whenLocked}
  )`

const networkForgiven = (times: RawBuilder<unknown>, which: RawBuilder<unknown>) => sql`
  update sign_in_attempts as a set failures = greatest(failures - ${times}, 0),
    blocked_until = case when failures - ${times} < ${perNetwork.free} then '-infinity' else blocked_until end
  ${which}`

/** A try that could not be made, because a part was down, is none. */
export async function takenBack(db: Kysely<DB>, { account, network }: Attempt): Promise<void> {
  const keys = [account, network]
  await sql`
    with ${locked(sql`${keys}`)}
    update sign_in_attempts set failures = greatest(failures - 1, 0), blocked_until = '-infinity'
    where key = any(${keys}) and ${whenLocked}`.execute(db)
}
