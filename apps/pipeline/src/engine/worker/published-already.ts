import type { Claim } from '../runs/claim.ts'
import { finishRun } from '../runs/finish-run.ts'
import { WarehouseProblem } from '../warehouses/warehouse.ts'
import { type LoadingParts, type Success, successOf } from './load-run.ts'

type Parts = Pick<LoadingParts, 'db' | 'warehouses'>

/**
 * How a run ended that an attempt published without living to say so; undefined where none did. Before a run is called
 * failed or cancelled for good, the ledger is asked: what the table holds is the truth. Throws `WarehouseProblem` when
 * the warehouse cannot tell just now.
 */
export async function publishedAlready(
  { warehouses }: Pick<Parts, 'warehouses'>,
  { client, uid, rowsRejected }: Pick<Claim, 'client' | 'uid' | 'rowsRejected'>,
): Promise<Success | undefined> {
  const warehouse = await warehouses.find(client)
  const publication = await warehouse?.findPublication(uid).catch((error: unknown) => {
    // One that is gone, or knows us no more, holds nothing that this run published.
    if (error instanceof WarehouseProblem && !error.retryable) return undefined
    throw error
  })
  return publication && successOf(publication.tables, rowsRejected)
}

/** A run that was cancelled while its worker, now dead, was committing: it is what its table says. */
export async function correctCancelled(parts: Parts, uid: string): Promise<void> {
  const run = await parts.db
    .selectFrom('runs')
    .select(['id', 'uid', 'client', 'attempt', 'rows_rejected as rowsRejected'])
    .where('uid', '=', uid)
    .where('state', '=', 'CANCELLED')
    .where('attempt', '>', 0)
    .executeTakeFirst()
  const success = run && (await publishedAlready(parts, run))
  if (success) await finishRun(parts.db, run, success)
}
