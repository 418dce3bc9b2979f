import type { Pool } from 'pg'
import type { WarehouseMaintenance } from '../upkeep.ts'
import { dropExpired } from './publishing/replaced-tables.ts'
import { assertLedgerCurrent, pruneLedger, selectLedgerVersion } from './server/ledger-schema.ts'
import { withClient } from './postgres-connections.ts'
import type { PostgresServer } from './postgres-server.ts'
import { assertRoleSettings, expectedSettings, selectChangedSetting } from './server/role-settings.ts'
import { dropDetached, parseStagingComment } from './staging-table-ddl.ts'
import { dropRunSchema } from './transformation/transformation-schema.ts'

/** Returns the maintenance jobs of a PostgreSQL warehouse. */
export const postgresUpkeep = ({ pools, retention, run }: PostgresServer): WarehouseMaintenance => ({
  check: () =>
    run('the warehouse', async (client) => {
      const { rows } = await client.query<{ version: number; setting: string | null }>({
        name: 'sluice_check',
        text: `select (${selectLedgerVersion}) as version, (${selectChangedSetting}) as setting`,
        values: [expectedSettings],
      })
      assertLedgerCurrent(rows[0]!.version)
      assertRoleSettings(rows[0]!.setting)
    }),
  countConnections: () => pools.copies.totalCount + pools.transactions.totalCount + pools.statements.totalCount,
  sweepStaging: (listLiveRuns) => sweepStaging(pools.statements, listLiveRuns),
  pruneLedger: (keepDays) => run('the ledger', (client) => pruneLedger(client, keepDays)),
  dropExpiredTables: () => dropExpired(pools.statements, retention),
})

interface LeftoverObject {
  name: string
  kind: 'table' | 'schema'
  comment: string
}

/**
 * Selects objects that a dead run can leave over: staging tables, and the schemas of its transformations and previews.
 * Schemas come first, because their views depend on the tables. Excludes objects that users created: their comments do
 * not name a run.
 */
const leftoverObjectsQuery = `
  select relname as name, 'table' as kind, obj_description(oid, 'pg_class') as comment from pg_class
  where relnamespace = 'sluice'::regnamespace and relkind = 'r' and not relispartition and pg_has_role(relowner, 'usage')
    and obj_description(oid, 'pg_class') like '{"run":%'
    and relname not in (select partition_name from sluice.kept_table where partition_name is not null)
  union all
  select nspname, 'schema', obj_description(oid, 'pg_namespace') from pg_namespace
  where nspname like 'sluice\\_%' and pg_has_role(nspowner, 'usage') and obj_description(oid, 'pg_namespace') like '{"run":%'
  order by kind`

/**
 * Drops the staging tables and schemas of dead runs. Returns the number of dropped objects. Lists the objects first and
 * the live runs second: a run is registered before its staging table exists, so nothing of a live run is dropped.
 */
async function sweepStaging(pool: Pool, listLiveRuns: () => Promise<ReadonlySet<string>>): Promise<number> {
  const { rows } = await withClient(pool, undefined, (client) => client.query<LeftoverObject>(leftoverObjectsQuery))
  if (rows.length === 0) return 0
  const liveRuns = await listLiveRuns()
  let droppedCount = 0
  for (const { name, kind, comment } of rows) {
    const { run } = parseStagingComment(comment) ?? {}
    const isOfDeadRun = typeof run === 'string' && !liveRuns.has(run)
    if (!isOfDeadRun) continue
    const drop = kind === 'table' ? dropDetached(pool, name) : dropRunSchema(pool, name)
    // An object that is in use, or that a user's view depends on, stays until the next sweep.
    const isDropped = await drop.catch(() => false)
    if (isDropped) droppedCount += 1
  }
  return droppedCount
}
