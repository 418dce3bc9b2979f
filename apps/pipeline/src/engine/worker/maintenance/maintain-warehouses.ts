import { type Kysely, sql } from 'kysely'
import type { DB } from '../../../database.ts'
import { runsToKeep } from '../../runs/runs-to-keep.ts'
import { forgetStagedLoadsOfEndedRuns } from '../../runs/staged-loads.ts'
import type { ClientWarehouses } from '../../warehouses/client-warehouses.ts'
import type { MaintenanceJob } from './maintenance.ts'
import type { Warehouse } from '../../warehouses/warehouse.ts'
import type { Logger } from '@sluice/process'
import { dropWaiting } from '../../drops/drops.ts'

const day = 86_400_000

/**
 * Drops the staging tables that killed workers left, and those of failed loads that were kept long enough. Looks into the warehouses of clients whose runs ended within the
 * last hour, and once a day, the first round included, into all of them.
 */
export function sweepStaging({ db, warehouses }: { db: Kysely<DB>; warehouses: ClientWarehouses }): MaintenanceJob {
  let sweptAll = 0

  return {
    name: 'staging tables',
    async run(signal) {
      const all = Date.now() - sweptAll > day
      const clients = await (all ? everyClient(db) : busyClients(db))
      let dropped = 0
      await eachWarehouse(warehouses, clients, signal, async (warehouse, client) => {
        dropped += await warehouse.sweepStaging(() => runsToKeep(db, client))
      })
      if (all) sweptAll = Date.now()
      await forgetStagedLoadsOfEndedRuns(db)
      return dropped
    },
  }
}

async function busyClients(db: Kysely<DB>): Promise<string[]> {
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

/** Does the same in the warehouses of these clients. One that is away does not keep the others from it; then it throws. */
export async function eachWarehouse(
  warehouses: ClientWarehouses,
  clients: readonly string[],
  signal: AbortSignal,
  work: (warehouse: Warehouse, client: string) => Promise<void>,
): Promise<void> {
  const failures: unknown[] = []
  for (const client of clients) {
    signal.throwIfAborted()
    try {
      await work(await warehouses.open(client), client)
    } catch (error) {
      failures.push(error)
    }
  }
  if (failures.length > 0) throw failures[0]
}

/** The clients that have a warehouse. */
export async function everyClient(db: Kysely<DB>): Promise<string[]> {
  const rows = await db.selectFrom('warehouses').select('client').where('provisioned_at', 'is not', null).execute()
  return rows.map(({ client }) => client)
}

const every = 6 * 3_600_000

/** Drops what loads replaced and is not kept any longer, in every warehouse. */
export function expirePrevious({ db, warehouses }: { db: Kysely<DB>; warehouses: ClientWarehouses }): MaintenanceJob {
  let expiredAt = 0

  return {
    name: 'previous publications',
    async run(signal) {
      if (Date.now() - expiredAt < every) return 0
      let dropped = 0
      await eachWarehouse(warehouses, await everyClient(db), signal, async (warehouse) => {
        dropped += await warehouse.expirePrevious()
      })
      expiredAt = Date.now()
      return dropped
    },
  }
}

/** Drops the tables and schemas of pipelines and schemas that were deleted while the warehouse did not let them go. */
export function dropDeleted(parts: { db: Kysely<DB>; warehouses: ClientWarehouses; logger: Logger }): MaintenanceJob {
  const { db, warehouses, logger } = parts
  return {
    name: 'deleted tables',
    run: () =>
      dropWaiting(db, warehouses, (error, { client, schema_name: schema, table_name: table }) =>
        logger.warn({ err: error, client, schema, table }, 'what was deleted stays in the warehouse for now'),
      ),
  }
}

/** Once a day, in every warehouse: its ledger forgets the runs that are forgotten here, as far as no table holds them. */
export function pruneLedgers(parts: { db: Kysely<DB>; warehouses: ClientWarehouses; days: number }): MaintenanceJob {
  const { db, warehouses, days } = parts
  let prunedAt = 0

  return {
    name: 'ledger entries',
    async run(signal) {
      if (Date.now() - prunedAt < 86_400_000) return 0
      let pruned = 0
      await eachWarehouse(warehouses, await everyClient(db), signal, async (warehouse) => {
        pruned += await warehouse.pruneLedger(days)
      })
      prunedAt = Date.now()
      return pruned
    },
  }
}
