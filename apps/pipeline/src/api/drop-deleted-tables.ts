import { executeDueDrops } from '../drops/drops.ts'
import type { PipelineContext } from './operation.ts'
import { shares } from './shares.ts'

/**
 * Drops the deleted tables of a client now; a worker drops later what cannot be dropped now. Each drop holds a connection of the
 * service's database for some seconds, so few of an organisation run at a time. Never throws: logs a warning with `what`.
 */
export async function dropDeletedTables(
  { db, warehouses, logger }: Pick<PipelineContext, 'db' | 'warehouses' | 'logger'>,
  client: string,
  what: object,
): Promise<void> {
  const failed = (error: unknown) =>
    logger.warn({ err: error, ...what }, 'what was deleted stays in the warehouse for now')
  await shares.drops.run(client, () => executeDueDrops(db, warehouses, failed, client)).catch(failed)
}
