import { dropWaiting } from '../engine/drops/drops.ts'
import type { PipelineContext } from './operation.ts'
import { shares } from './shares.ts'

/**
 * Drops what the client deleted from its warehouse at once, where the warehouse lets it go; a worker drops the rest later. Each drop holds
 * a connection of the service's database for some seconds, so few of an organisation do. Never throws; `what` stays then.
 */
export async function dropDeletedTables(
  { db, warehouses, logger }: Pick<PipelineContext, 'db' | 'warehouses' | 'logger'>,
  client: string,
  what: object,
): Promise<void> {
  const failed = (error: unknown) =>
    logger.warn({ err: error, ...what }, 'what was deleted stays in the warehouse for now')
  await shares.drops.run(client, () => dropWaiting(db, warehouses, failed, client)).catch(failed)
}
