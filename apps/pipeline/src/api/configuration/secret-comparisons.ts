import type { ConfigurationKind } from '@sluice/contracts'
import type { KeyRing } from '@sluice/database'
import { problems } from '@sluice/http-server'
import { sql, type Transaction } from 'kysely'
import type { DB } from '../../database.ts'
import type { RequestContext } from '../operation-context.ts'

/** A value of a configuration that was compared with a stored secret. */
export interface SecretComparison {
  kind: ConfigurationKind
  name: string
  pointer: string
  state: 'SAME' | 'CHANGED'
  /** Identifies the object, the stored and the given value, without revealing them. */
  digest: string
}

/** Returns the digest of a comparison. The same object, stored and given value have the same digest. */
export const digestComparison = (
  { uid, pointer, stored, given }: { uid: string; pointer: string; stored: string; given: string },
  ring: KeyRing,
): string => ring.mac(JSON.stringify([uid, pointer, stored, given]), 'configuration.comparison')

/** Values that may differ from stored secrets within an hour, before more values are refused. */
const maxDifferent = { user: 20, client: 60 }

/**
 * Counts the comparisons for the caller and the organisation. Returns the seconds to wait, without counting, if too many values differed
 * within the last hour and one of these is new; otherwise 0. Whether the new value is right makes no difference, because a refusal would
 * reveal it. A document that is planned below the limit may have any number of values, so that all secrets of an organisation can be
 * replaced in one document; each secret is compared once.
 */
export async function countComparisons(
  trx: Transaction<DB>,
  comparisons: readonly SecretComparison[],
  { caller }: Pick<RequestContext, 'caller'>,
): Promise<number> {
  if (comparisons.length === 0) return 0
  const { client, uid: user } = caller
  // Deletes rows of all organisations. Another transaction may be deleting some of them.
  await sql`
    delete from secret_comparisons where ctid in (
      select ctid from secret_comparisons where compared_at <= now() - interval '1 hour' for update skip locked)`.execute(
    trx,
  )
  const digests = comparisons.map(({ digest }) => digest)
  const { rows } = await sql<{ known: number; wait: number | null }>`
    with recent as (
      select * from secret_comparisons where client = ${client} and compared_at > now() - interval '1 hour'
    ),
    full_at as (
      (select compared_at from recent where differed and user_uid = ${user}
        order by compared_at desc offset ${maxDifferent.user - 1} limit 1)
      union all
      (select min(compared_at) from recent where differed group by digest
        order by 1 desc offset ${maxDifferent.client - 1} limit 1)
    )
    select (select count(*)::int from recent where user_uid = ${user} and digest = any(${digests})) as known,
      (select extract(epoch from max(compared_at) + interval '1 hour' - now())::float8 from full_at) as wait`.execute(
    trx,
  )
  const { known, wait } = rows[0]!
  if (wait !== null && known < digests.length) return Math.max(1, Math.ceil(wait))
  const differed = comparisons.map(({ state }) => state === 'CHANGED')
  await sql`
    insert into secret_comparisons (client, user_uid, digest, differed)
    select ${client}, ${user}, digest, differed from unnest(${digests}::text[], ${differed}::boolean[]) as given (digest, differed)
    on conflict do nothing`.execute(trx)
  return 0
}

/** Returns the details of the audit row: never a value, and no state if the caller was refused the states. */
export const describeComparisons = (comparisons: readonly SecretComparison[], withStates: boolean): object =>
  comparisons.length === 0
    ? {}
    : {
        compared: comparisons.map(({ kind, name, pointer, state }) => ({
          kind,
          name,
          pointer,
          ...(withStates && { state }),
        })),
      }

export function tooManyComparisons(seconds: number): Error {
  return problems.tooManyRequests(
    seconds,
    `Too many values differed from stored secrets within an hour, so this plan compares no more of them. Leave the secrets out of the document, or try again in ${Math.ceil(seconds / 60)} minutes.`,
  )
}
