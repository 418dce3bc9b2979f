import { executeDueDrops } from '../deleted-tables/pending-table-drops.ts'
import type { PipelineContext } from './operation-context.ts'
import { requestSlots } from './concurrency-limits.ts'

/**
 * Drops the tables of an organisation that are marked for deletion. Tables that cannot be dropped now are dropped later
 * by a worker. A semaphore limits concurrent drops, because each holds a connection of the service's database for some
 * seconds. Never throws: logs failures as warnings, with `logFields`.
 */
export async function dropDeletedTables(
  { db, warehouses, logger }: Pick<PipelineContext, 'db' | 'warehouses' | 'logger'>,
  client: string,
  logFields: object,
): Promise<void> {
  const logFailure = (error: unknown) =>
    logger.warn({ err: error, ...logFields }, 'deleted tables could not be dropped; a worker retries')
  await requestSlots.drops.run(client, () => executeDueDrops(db, warehouses, logFailure, client)).catch(logFailure)
}
