import { type SourceShape, sourceShapeOfTable } from '../../shape/previous-source-columns.ts'
import { type MeasuredLoad, sourceShapeAfterLoad, planLoad } from '../../shape/load-shape.ts'
import type { PlannedColumn } from '../../shape/plan-shape.ts'
import { planTable, type TablePlan } from '../../shape/plan-table.ts'
import type { LedgerEntry } from '../publication-ledger.ts'
import { type ClickHouseShape, emptyColumn, type StagingColumn, stagingColumn } from '../table-shape.ts'
import { typeRules } from '../types.ts'

/**
 * Returns the shape that the table's last load recorded, or undefined if the table does not exist. For a table of an older
 * version, which has no record, derives it from the current columns.
 */
export const previousSourceShape = (
  currentShape: ClickHouseShape | undefined,
  entry: LedgerEntry | undefined,
): SourceShape | undefined =>
  currentShape && (entry?.feed ?? sourceShapeOfTable(currentShape.columns, entry?.fedColumns ?? []))

export interface LoadPlan {
  /** One entry per source column, in the source's order. */
  planned: PlannedColumn[]
  table: TablePlan<StagingColumn>
  sourceShape: SourceShape
}

/**
 * Plans the columns of a table after a load, from its last load and its current columns. `staging` is the staging table
 * with its rows, absent until they are written, and the names of the columns that the source or a transformation filled
 * (default: all). `reading` is the state that the source receives at the next load. Throws the errors of `planLoad`.
 */
export function planTableAfterLoad(
  currentShape: ClickHouseShape | undefined,
  entry: LedgerEntry | undefined,
  loaded: MeasuredLoad & { reading?: unknown },
  staging?: { columns: readonly StagingColumn[]; filledNames: readonly string[] | undefined },
): LoadPlan {
  const previousShape = previousSourceShape(currentShape, entry)
  const plan = planLoad(typeRules, previousShape, loaded)
  const plannedColumns = plan.columns.filter(({ ignored }) => !ignored)
  const filledColumns = staging?.columns.filter(({ name }) => staging.filledNames?.includes(name) ?? true)
  const stagedColumns = (filledColumns ?? plannedColumns).map(stagingColumn)
  const merging = loaded.merging ?? loaded.target.shape?.merging === true
  // The load has no values for columns that only the table has.
  const currentColumns = currentShape?.columns.map(emptyColumn)
  const table = planTable(typeRules, currentColumns, stagedColumns, plan, { merging })
  // The missing columns may have been added to the staging table already.
  const missing = table.missing.filter((column) => !staging?.columns.some(({ name }) => name === column.name))
  const sourceShape = sourceShapeAfterLoad(loaded.target, previousShape, table.recordedColumns, loaded.reading)
  return { planned: plan.columns, table: { ...table, missing }, sourceShape }
}
