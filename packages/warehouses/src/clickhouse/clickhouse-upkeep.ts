import type { WarehouseMaintenance } from '../upkeep.ts'
import type { ClickHouseServer } from './clickhouse-server.ts'
import type { ClientAccess } from './clickhouse-settings.ts'
import { executeStatement, rowsOf } from './protocol/http-client.ts'
import { dropExpired, keepReplaced } from './publishing/replaced-tables.ts'
import { hasWrittenTable, ledgerTable } from './publication-ledger.ts'
import { keptPrefix, quoteIdentifier, runPrefix, schemaPrefix, shownPrefix } from './sql-identifiers.ts'
import { finishDecisionDeletions } from './publishing/publication-recovery.ts'
import { parseTableMetadata } from './table-shape.ts'

/** Returns the maintenance jobs of a ClickHouse warehouse. */
export const clickHouseUpkeep = ({
  access,
  keepDays,
  runOnServer,
  runAfterRecovery,
}: ClickHouseServer): WarehouseMaintenance => ({
  check: () => runOnServer('the warehouse', () => executeStatement(access.service, 'select 1')),
  // Always 0: every request opens a connection and closes it.
  countConnections: () => 0,
  sweepStaging: (listLiveRuns) =>
    runAfterRecovery('the warehouse', async () => {
      await finishDecisionDeletions(access)
      return sweepStaging(access, listLiveRuns, keepDays)
    }),
  pruneLedger: (ledgerDays) => runAfterRecovery('the ledger', () => pruneLedger(access, ledgerDays)),
  dropExpiredTables: () => runAfterRecovery('the warehouse', () => dropExpired(access, keepDays)),
})

/**
 * Drops the staging databases of dead runs, and expired temporary databases. First moves the tables that such a run's
 * publication replaced to the kept tables. Returns the number of dropped databases. Lists the databases before the live
 * runs: a run is registered before its database exists, so no live run loses its database.
 */
async function sweepStaging(
  access: ClientAccess,
  listLiveRuns: () => Promise<ReadonlySet<string>>,
  keepDays: number,
): Promise<number> {
  const { key, service } = access
  const rows = await rowsOf<{ name: string; comment: string }>(
    service,
    `select name, comment from system.databases
     where startsWith(name, {run:String}) or startsWith(name, {shown:String})`,
    { parameters: { run: runPrefix(key), shown: shownPrefix(key) } },
  )
  if (rows.length === 0) return 0
  const liveRuns = await listLiveRuns()
  let droppedCount = 0
  for (const { name, comment } of rows) {
    const run = parseRunToSweep(comment)
    if (run === undefined || liveRuns.has(run)) continue
    try {
      await keepReplaced(access, name, keepDays)
      await executeStatement(service, `drop database if exists ${quoteIdentifier(name)}`)
      droppedCount += 1
    } catch {
      // Errors are ignored here; the next sweep tries again.
    }
  }
  return droppedCount
}

/**
 * Returns the run id (or purpose) in the comment of a staging or temporary database. Returns undefined if the database
 * must stay: its time `until` has not passed, or the comment is not Sluice's.
 */
function parseRunToSweep(comment: string): string | undefined {
  try {
    const { run, until = 0 } = JSON.parse(comment) as { run?: unknown; until?: number }
    const mayBeDropped = until < Date.now()
    return typeof run === 'string' && mayBeDropped ? run : undefined
  } catch {
    return undefined
  }
}

/**
 * Deletes ledger entries older than `keepDays` days. For each existing table, keeps the entries of the run that loaded
 * its rows, and those of the last run that left it unchanged, because they have the cursor. Returns the number of
 * deleted runs.
 */
async function pruneLedger(access: ClientAccess, keepDays: number): Promise<number> {
  const { key, service } = access
  const tables = await rowsOf<{ comment: string }>(
    service,
    `select comment from system.tables
     where startsWith(database, {schemaPrefix:String}) or startsWith(database, {keptPrefix:String})`,
    { parameters: { schemaPrefix: schemaPrefix(key), keptPrefix: keptPrefix(key) } },
  )
  const existingLoads = tables.flatMap(({ comment }) => parseTableMetadata(comment)?.load ?? [])
  const ledger = ledgerTable(access)
  const hasExistingLoad = `state = 'PUBLISHED' and has({existingLoads:Array(String)}, load)`
  const runsThatWroteTables = `select run from ${ledger} where ${hasExistingLoad} and ${hasWrittenTable}`
  const lastRunOfEachLoad = `select argMax(run, at) from ${ledger} where ${hasExistingLoad} group by load`
  const mayBeDeleted = `at < now64(6) - interval {days:UInt32} day
    and run not in (${runsThatWroteTables}) and run not in (${lastRunOfEachLoad})`
  const parameters = { days: String(keepDays), existingLoads }
  const [countRow] = await rowsOf<{ runs: number }>(
    service,
    `select uniqExact(run) as runs from ${ledger} where ${mayBeDeleted}`,
    { parameters },
  )
  const { runs } = countRow!
  if (runs > 0) await executeStatement(service, `alter table ${ledger} delete where ${mayBeDeleted}`, { parameters })
  return runs
}
