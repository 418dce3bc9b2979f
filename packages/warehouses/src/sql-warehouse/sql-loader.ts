import type { Loader } from '../loader.ts'
import { cannotUndo } from '../warehouse-kinds.ts'
import type { StagedTable } from '../warehouse.ts'
import { findPublication } from './publication-ledger.ts'
import { previousSourceShape } from './staging/plan-load.ts'
import { fenceRun, publishRun } from './publishing/publish-run.ts'
import type { SqlSessions } from './sql-sessions.ts'
import { SqlStagedTable, stageTable } from './staging/staged-table.ts'
import { exposeStagedRows } from './publishing/staged-rows-preview.ts'
import { typeRules } from './staging/staging-columns.ts'
import { readShape } from './table-shape.ts'
import { runTransformation } from './staging/run-transformation.ts'

const rejectUndo = async (): Promise<never> => {
  throw cannotUndo()
}

/** Returns the loader of an organisation's warehouse. These warehouses have no dry runs and keep no replaced tables. */
export const sqlLoader = ({ dialect, runOnServer, withServiceSession, withTable }: SqlSessions): Loader => ({
  stage: (target, signal) => runOnServer('the warehouse', () => stageTable(dialect, target, signal)),
  transform: (tables, statements, signal) => runTransformation(dialect, sqlTables(tables), statements, signal),
  exposeStagedRows: (tables, attempt) => exposeStagedRows(dialect, tables, attempt),
  publish: (tables, isCurrentAttempt, signal, options = {}) =>
    publishRun(dialect, sqlTables(tables), isCurrentAttempt, signal, options),
  plan: rejectUndo,
  describeStaged: async () => undefined,
  adoptStaged: async () => undefined,
  findPublication: (id) => withServiceSession('the ledger', (session) => findPublication(dialect, session, id)),
  fenceRun: (id) => runOnServer('the ledger', () => fenceRun(dialect, id)),
  findLastLoad: (schema, table) =>
    withTable(schema, table, async (session, place) => {
      const shape = await readShape(dialect, session, place)
      return { cursor: shape?.metadata?.cursor, sourceShape: previousSourceShape(shape) }
    }),
  typeRules: async () => typeRules(dialect.types),
  findPrevious: rejectUndo,
  restore: rejectUndo,
})

/** Narrows the type of staged tables. Throws if one of them is in another warehouse. */
function sqlTables(tables: readonly StagedTable[]): SqlStagedTable[] {
  const stagedTables = tables.filter((table) => table instanceof SqlStagedTable)
  if (stagedTables.length < tables.length)
    throw new Error('A table that was staged in another warehouse cannot be published in this one.')
  return stagedTables
}
