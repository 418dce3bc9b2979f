import { type Kysely, sql } from 'kysely'
import type { DB } from '../../database.ts'
import { listRunsToKeep } from '../../runs/runs-with-retained-data.ts'
import { deleteStagedLoadsOfEndedRuns } from '../../runs/staged-load-records.ts'
import { deleteUnpublishedProfiles } from '../../table-profiles/stored-profiles.ts'
import type { ClientWarehouses } from '../../warehouses/client-warehouses.ts'
import type { MaintenanceJob } from './maintenance.ts'
import type { Warehouse } from '@sluice/warehouses/warehouse'
import type { Logger } from '@sluice/process'
import { executeDueDrops } from '../../deleted-tables/pending-table-drops.ts'

const dayMs = 86_400_000

/**
 * Drops the staging tables of killed workers, and expired ones of failed loads. Checks the warehouses of organisations
 * with a run that ended within the last hour. In the first round and then once a day, checks all warehouses.
 */
export function sweepStaging({ db, warehouses }: { db: Kysely<DB>; warehouses: ClientWarehouses }): MaintenanceJob {
  let lastFullSweepMs = 0

  return {
    name: 'staging tables',
    async run(signal) {
      const isFullSweep = Date.now() - lastFullSweepMs > dayMs
      const clients = await (isFullSweep ? listClientsWithWarehouse(db) : listBusyClients(db))
      let droppedCount = 0
      await forEachWarehouse(warehouses, clients, signal, async (warehouse, client) => {
        droppedCount += await warehouse.upkeep.sweepStaging(() => listRunsToKeep(db, client))
      })
      if (isFullSweep) lastFullSweepMs = Date.now()
      await deleteStagedLoadsOfEndedRuns(db)
      await deleteUnpublishedProfiles(db)
      return droppedCount
    },
  }
}

/** Returns the organisations with a warehouse and with a run that ended within the last hour. */
async function listBusyClients(db: Kysely<DB>): Promise<string[]> {
  const rows = await db
    .selectFrom('runs as r')
    .innerJoin('warehouses as w', 'w.client', 'r.client')
    .select('r.client')
    .distinct()
    .where('w.provisioned_at', 'is not', null)
    .where('r.finished_at', '>', sql<Date>`now() - interval '1 hour'`)
    .execute()
  return rows.map(({ client }) => client)
}

/**
 * Calls `callback` with the warehouse of each organisation. Continues after errors, and throws the first one at the
 * end.
 */
async function forEachWarehouse(
  warehouses: ClientWarehouses,
  clients: readonly string[],
  signal: AbortSignal,
  callback: (warehouse: Warehouse, client: string) => Promise<void>,
): Promise<void> {
  const failures: unknown[] = []
  for (const client of clients) {
    signal.throwIfAborted()
    try {
      await callback(await warehouses.open(client), client)
    } catch (error) {
      failures.push(error)
    }
  }
  if (failures.length > 0) throw failures[0]
}

async function listClientsWithWarehouse(db: Kysely<DB>): Promise<string[]> {
  const rows = await db.selectFrom('warehouses').select('client').where('provisioned_at', 'is not', null).execute()
  return rows.map(({ client }) => client)
}

const maintenanceIntervalMs = 6 * 3_600_000

/** Drops previous versions of tables that have expired, in every warehouse. */
export function expirePrevious({ db, warehouses }: { db: Kysely<DB>; warehouses: ClientWarehouses }): MaintenanceJob {
  let lastRoundMs = 0

  return {
    name: 'previous publications',
    async run(signal) {
      if (Date.now() - lastRoundMs < maintenanceIntervalMs) return 0
      let droppedCount = 0
      await forEachWarehouse(warehouses, await listClientsWithWarehouse(db), signal, async (warehouse) => {
        droppedCount += await warehouse.upkeep.dropExpiredTables()
      })
      lastRoundMs = Date.now()
      return droppedCount
    },
  }
}

/** Drops the tables and schemas of deleted pipelines, views and schemas that could not be dropped immediately. */
export function dropDeleted({
  db,
  warehouses,
  logger,
}: {
  db: Kysely<DB>
  warehouses: ClientWarehouses
  logger: Logger
}): MaintenanceJob {
  return {
    name: 'deleted tables',
    run: () =>
      executeDueDrops(db, warehouses, (error, { client, schema_name: schema, table_name: table }) =>
        logger.warn({ err: error, client, schema, table }, 'a deleted table or schema could not be dropped yet'),
      ),
  }
}

/**
 * Once a day, deletes rows older than `keepDays` days from the ledgers, the tables in each warehouse with a row for
 * each publication. Keeps a row while a table still has the rows of that run.
 */
export function pruneLedgers({
  db,
  warehouses,
  keepDays,
}: {
  db: Kysely<DB>
  warehouses: ClientWarehouses
  keepDays: number
}): MaintenanceJob {
  let lastRoundMs = 0

  return {
    name: 'ledger entries',
    async run(signal) {
      if (Date.now() - lastRoundMs < dayMs) return 0
      let prunedCount = 0
      await forEachWarehouse(warehouses, await listClientsWithWarehouse(db), signal, async (warehouse) => {
        prunedCount += await warehouse.upkeep.pruneLedger(keepDays)
      })
      lastRoundMs = Date.now()
      return prunedCount
    },
  }
}
