import { sql, type Kysely, type Transaction } from 'kysely'
import { problems } from '@sluice/http-server'
import type { DB } from '../database.ts'

type LimitedMailKind = 'INVITATION' | 'PASSWORD_RESET'

/** The maximum number of mails of one kind per hour to one address from one organisation's administrators. */
const maxPerClientAndHour = 5
/** The maximum number of password resets per hour for one user. */
const maxPerUserAndHour = 5
/**
 * The maximum number of mails of one kind per hour to one address from all organisations. It is much higher than the
 * limit of one organisation, so that no single organisation can use it up.
 */
const maxPerAddressAndHour = 25
/**
 * The maximum number of password resets per hour for one address and organisation. Users may share an e-mail address,
 * and each may need a reset.
 */
const maxResetsPerClient = 10

/**
 * Throws 429 with the seconds to wait if a mail of this kind to the address would exceed an hourly limit. One limit is
 * for the mails of the user's organisation, the other for the mails of all organisations. Concurrent mails to the
 * address wait for this transaction.
 */
export async function assertMailAllowed(
  trx: Transaction<DB>,
  kind: LimitedMailKind,
  { email: address, client }: { email: string; client: string },
): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(lower(${`mail:${kind}:${address}`}), 0))`.execute(trx)
  // A limit of N is reached if an Nth newest mail exists, and ends an hour after that mail.
  const nthNewest = (n: number) => sql`order by created_at desc offset ${n - 1} limit 1`
  const { rows } = await sql<{ seconds: number }>`
    with recent_mails as (
      select created_at, client from mails
      where lower(recipient) = lower(${address}) and kind = ${kind} and created_at > now() - interval '1 hour'),
    limiting_mails as (
      (select created_at from recent_mails where client = ${client} ${nthNewest(maxPerClientAndHour)})
      union all
      (select created_at from recent_mails ${nthNewest(maxPerAddressAndHour)}))
    select extract(epoch from max(created_at) + interval '1 hour' - now())::float8 as seconds from limiting_mails
    having max(created_at) is not null`.execute(trx)
  const [reachedLimit] = rows
  if (reachedLimit)
    throw problems.tooManyRequests(
      Math.max(1, Math.ceil(reachedLimit.seconds)),
      'Too many mails were sent to this address within an hour. Use the link in the newest mail.',
    )
}

/**
 * Returns whether the hourly limit of password-reset links is reached: for this user, or for all users of the
 * organisation with the same e-mail address. Users of other organisations do not count. The caller must hold the lock
 * on the user.
 */
export async function isResetLimitReached(
  db: Kysely<DB>,
  { id, client, email }: { id: number; client: string; email: string },
): Promise<boolean> {
  const { rows } = await sql<{ forUser: number; forClient: number }>`
    select count(*) filter (where user_id = ${id}) as "forUser",
      count(*) filter (where client = ${client}) as "forClient"
    from mails
    where lower(recipient) = lower(${email}) and kind = 'PASSWORD_RESET'
      and created_at > now() - interval '1 hour'`.execute(db)
  const { forUser, forClient } = rows[0]!
  return forUser >= maxPerUserAndHour || forClient >= maxResetsPerClient
}
