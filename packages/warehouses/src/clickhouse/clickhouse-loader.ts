import type { Loader } from '../loader.ts'
import type { StagedTable } from '../warehouse.ts'
import type { ClickHouseServer } from './clickhouse-server.ts'
import { findPrevious } from './publishing/replaced-tables.ts'
import { findLedgerEntry, findPublication, findFirstPublication } from './publication-ledger.ts'
import { databaseOf } from './sql-identifiers.ts'
import { previousSourceShape } from './staging/plan-load.ts'
import { fenceRun, planTables, publishRun } from './publishing/publish-run.ts'
import { restoreKeptTables } from './publishing/restore.ts'
import { ClickHouseStagedTable, stageTable } from './staging/staged-table.ts'
import { exposeStagedRows } from './publishing/staged-rows-preview.ts'
import { readShape } from './table-shape.ts'
import { runTransformation } from './staging/run-transformation.ts'
import { typeRules } from './column-types.ts'

/** Returns the loader of a ClickHouse warehouse: it stages, checks, publishes and restores the tables of runs. */
export function clickHouseLoader(server: ClickHouseServer): Loader {
  const { access, keepDays, ensureProvisioned, runOnServer, runAfterRecovery, quoteAllowedName } = server
  const readTableShape = (schema: string, table: string) =>
    readShape(access.service, databaseOf({ key: access.key, schema }), table)

  return {
    async stage(target, signal) {
      signal.throwIfAborted()
      await ensureProvisioned()
      return stageTable(access, target)
    },
    transform: (tables, statements, signal) => runTransformation(access, clickHouseTables(tables), statements, signal),
    exposeStagedRows: (tables, attempt) => exposeStagedRows(access, tables, attempt),
    publish: (tables, isCurrentAttempt, signal, options = {}) =>
      publishRun(access, clickHouseTables(tables), isCurrentAttempt, signal, { ...options, keepDays }),
    plan: (tables, signal, options = {}) => planTables(access, clickHouseTables(tables), options, signal),
    // A later attempt cannot reuse the staging tables of an earlier one; it loads the rows again.
    describeStaged: async () => undefined,
    adoptStaged: async () => undefined,
    findPublication: (id) => runAfterRecovery('the ledger', () => findPublication(access, id)),
    fenceRun: (id, attempt) => runOnServer('the ledger', () => fenceRun(access, { run: id, attempt })),
    findLastLoad: async (schema, table) =>
      runAfterRecovery(quoteAllowedName(schema, table), async () => {
        const shape = await readTableShape(schema, table)
        const entry = await findLedgerEntry(access, shape?.metadata?.load)
        return { cursor: entry?.cursor, sourceShape: previousSourceShape(shape, entry) }
      }),
    typeRules: async () => typeRules,
    findPrevious: async (schema, table) =>
      runAfterRecovery(quoteAllowedName(schema, table), async () => {
        const lastPublication = await findPrevious(access, { schema, table })
        const thisTable = lastPublication?.tables.find((row) => row.table === table && row.schema === schema)
        const replacedLoad = thisTable?.replaced?.metadata?.load
        return replacedLoad === undefined ? undefined : findFirstPublication(access, replacedLoad)
      }),
    async restore(target, isCurrentAttempt, signal, options = {}) {
      await ensureProvisioned()
      return restoreKeptTables(access, { target, isCurrentAttempt, options, keepDays }, signal)
    },
  }
}

/** Narrows the type of staged tables. Throws if one of them is in another warehouse. */
function clickHouseTables(tables: readonly StagedTable[]): ClickHouseStagedTable[] {
  const stagedTables = tables.filter((table) => table instanceof ClickHouseStagedTable)
  if (stagedTables.length < tables.length)
    throw new Error('A table that was staged in another warehouse cannot be published in this one.')
  return stagedTables
}
