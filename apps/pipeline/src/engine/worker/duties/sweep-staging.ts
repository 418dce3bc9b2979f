import { type Kysely, sql } from 'kysely'
import type { DB } from '../../../database.ts'
import { runsToKeep } from '../../runs/runs-to-keep.ts'
import { forgetStagedLoadsOfEndedRuns } from '../../runs/staged-loads.ts'
import type { ClientWarehouses } from '../../warehouses/client-warehouses.ts'
import type { Duty } from '../janitor.ts'
import { eachWarehouse, everyClient } from './each-warehouse.ts'

const day = 86_400_000

/**
 * Drops the staging tables that killed workers left, and those of failed loads that were kept long enough. Looks into the warehouses of clients whose runs ended within the
 * last hour, and once a day, the first round included, into all of them.
 */
export function sweepStaging({ db, warehouses }: { db: Kysely<DB>; warehouses: ClientWarehouses }): Duty {
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
