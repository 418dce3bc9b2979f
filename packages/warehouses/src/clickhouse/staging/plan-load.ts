import { type SourceShape, memoryOfTable } from '../../shape/previous-source-columns.ts'
import { type MeasuredLoad, memoryOf, planLoad } from '../../shape/load-shape.ts'
import type { PlannedColumn } from '../../shape/plan-shape.ts'
import { planTable, type TablePlan } from '../../shape/plan-table.ts'
import type { LedgerEntry } from '../ledger.ts'
import { type ClickHouseShape, emptyColumn, type StagingColumn, stagingColumn } from '../table-shape.ts'
import { typeRules } from '../types.ts'

/**
 * Returns what the table's last load recorded about its columns. For a table of an older version, derives it from the
 * current columns.
 */
export const previousSourceShape = (
  currentShape: ClickHouseShape | undefined,
  entry: LedgerEntry | undefined,
): SourceShape | undefined =>
  currentShape && (entry?.feed ?? memoryOfTable(currentShape.columns, entry?.fedColumns ?? []))

export interface LoadPlan {
  /** One entry per source column, in the source's order. */
  planned: PlannedColumn[]
  table: TablePlan<StagingColumn>
  sourceShape: SourceShape
}

/**
 * Plans the columns of a table after a load, from its last load and its current columns. `staging` is the staging table
 * with its rows; absent until they are written. `reading` is the state that the source receives at the next load.
 * Throws the errors of `planLoad`.
 */
export function planTableAfterLoad(
  currentShape: ClickHouseShape | undefined,
  entry: LedgerEntry | undefined,
  loaded: MeasuredLoad & { reading?: unknown },
  staging?: { columns: readonly StagingColumn[]; suppliedColumns: readonly string[] | undefined },
): LoadPlan {
  const previousShape = previousSourceShape(currentShape, entry)
  const plan = planLoad(typeRules, previousShape, loaded)
  const suppliedColumns = staging?.columns.filter(({ name }) => staging.suppliedColumns?.includes(name) ?? true)
  const stagedColumns = (suppliedColumns ?? plan.columns.filter(({ ignored }) => !ignored)).map(stagingColumn)
  const merging = loaded.merging ?? loaded.target.shape?.merging === true
  // The load has no values for columns that only the table has.
  const currentColumns = currentShape?.columns.map(emptyColumn)
  const table = planTable(typeRules, currentColumns, stagedColumns, plan, { merging })
  // The missing columns may have been added to the staging table already.
  const missing = table.missing.filter((column) => !staging?.columns.some(({ name }) => name === column.name))
  const sourceShape = memoryOf(loaded.target, previousShape, table.memory, loaded.reading)
  return { planned: plan.columns, table: { ...table, missing }, sourceShape }
}
