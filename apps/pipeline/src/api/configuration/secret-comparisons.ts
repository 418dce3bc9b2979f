import type { ConfigurationKind } from '@sluice/contracts'
import type { KeyRing } from '@sluice/database'
import { type Caller, problems } from '@sluice/http-server'
import { sql, type Transaction } from 'kysely'
import type { DB } from '../../database.ts'
import type { RequestContext } from '../operation-context.ts'

/** The comparison of a value in the document with a stored secret. */
export interface SecretComparison {
  kind: ConfigurationKind
  name: string
  pointer: string
  state: 'SAME' | 'CHANGED'
  /** A keyed hash of the object, the stored value and the sent value. It identifies them without revealing them. */
  digest: string
}

/** Returns the digest of a comparison. It is the same for the same object, stored value and sent value. */
export const digestComparison = (
  { uid, pointer, stored, sent }: { uid: string; pointer: string; stored: string; sent: string },
  ring: KeyRing,
): string => ring.mac(JSON.stringify([uid, pointer, stored, sent]), 'configuration.comparison')

/**
 * The maximum number of sent values that differ from stored secrets within an hour. More are refused, because a caller
 * could guess secrets by comparing.
 */
const maxDifferent = { user: 20, client: 60 }

/**
 * Counts the comparisons for the caller and the organisation. If the limit of `maxDifferent` was reached within the
 * last hour and one of these comparisons is new, counts nothing and returns the seconds to wait. A correct value is
 * refused too, because otherwise the refusal would reveal it. Below the limit, one document may have any number of
 * values, so that all secrets of an organisation can be replaced at once.
 */
export async function countComparisons(
  trx: Transaction<DB>,
  comparisons: readonly SecretComparison[],
  { caller }: Pick<RequestContext, 'caller'>,
): Promise<number | undefined> {
  if (comparisons.length === 0) return undefined
  await deleteOldComparisons(trx)
  const digests = comparisons.map(({ digest }) => digest)
  const hasNewComparison = (await countKnownComparisons(trx, digests, caller)) < digests.length
  const waitSeconds = hasNewComparison ? await findSecondsUntilBelowLimit(trx, caller) : undefined
  if (waitSeconds !== undefined) return waitSeconds
  const differed = comparisons.map(({ state }) => state === 'CHANGED')
  await sql`
    insert into secret_comparisons (client, user_uid, digest, differed)
    select ${caller.client}, ${caller.uid}, digest, differed
    from unnest(${digests}::text[], ${differed}::boolean[]) as compared (digest, differed)
    on conflict do nothing`.execute(trx)
  return undefined
}

/** Deletes the old rows of all organisations. Skips rows that another transaction is deleting. */
const deleteOldComparisons = (trx: Transaction<DB>) =>
  sql`
    delete from secret_comparisons where ctid in (
      select ctid from secret_comparisons where compared_at <= now() - interval '1 hour' for update skip locked)`.execute(
    trx,
  )

/** Returns how many of these comparisons the caller has made within the last hour. */
async function countKnownComparisons(
  trx: Transaction<DB>,
  digests: readonly string[],
  { client, uid }: Caller,
): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from secret_comparisons
    where client = ${client} and compared_at > now() - interval '1 hour'
      and user_uid = ${uid} and digest = any(${[...digests]})`.execute(trx)
  return rows[0]!.count
}

/**
 * Returns the seconds until fewer than `maxDifferent` values differed within an hour, at least 1; undefined if the
 * limit is not reached.
 */
async function findSecondsUntilBelowLimit(trx: Transaction<DB>, { client, uid }: Caller): Promise<number | undefined> {
  // Each limit is reached if the n-th newest difference is recent, and ends an hour after it. A value that several
  // users sent counts once for the organisation.
  const { rows } = await sql<{ waitSeconds: number | null }>`
    with recent_differences as (
      select * from secret_comparisons
      where client = ${client} and compared_at > now() - interval '1 hour' and differed
    ),
    limits_reached as (
      (select compared_at from recent_differences where user_uid = ${uid}
        order by compared_at desc offset ${maxDifferent.user - 1} limit 1)
      union all
      (select min(compared_at) from recent_differences group by digest
        order by 1 desc offset ${maxDifferent.client - 1} limit 1)
    )
    select extract(epoch from max(compared_at) + interval '1 hour' - now())::float8 as "waitSeconds"
    from limits_reached`.execute(trx)
  const { waitSeconds } = rows[0]!
  return waitSeconds === null ? undefined : Math.max(1, Math.ceil(waitSeconds))
}

/**
 * Returns the comparisons for the audit log, without values. Omits the states (same or changed) if the caller did not
 * get them.
 */
export function describeComparisons(
  comparisons: readonly SecretComparison[],
  { withStates }: { withStates: boolean },
): object {
  if (comparisons.length === 0) return {}
  const compared = comparisons.map(({ kind, name, pointer, state }) =>
    withStates ? { kind, name, pointer, state } : { kind, name, pointer },
  )
  return { compared }
}

export function tooManyComparisons(seconds: number): Error {
  return problems.tooManyRequests(
    seconds,
    `Too many values differed from stored secrets within an hour, so this plan compares no more of them. Leave the secrets out of the document, or try again in ${Math.ceil(seconds / 60)} minutes.`,
  )
}
