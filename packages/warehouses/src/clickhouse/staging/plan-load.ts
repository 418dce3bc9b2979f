import { type SourceShape, sourceShapeOfTable } from '../../shape/previous-source-columns.ts'
import { type MeasuredLoad, sourceShapeAfterLoad, planLoad } from '../../shape/plan-load.ts'
import type { PlannedColumn } from '../../shape/plan-shape.ts'
import { planTable, type TablePlan } from '../../shape/plan-table.ts'
import type { LedgerEntry } from '../publication-ledger.ts'
import { type ClickHouseShape, emptyColumn, type StagingColumn, stagingColumn } from '../table-shape.ts'
import { typeRules } from '../column-types.ts'

/**
 * Returns the shape that the table's last load recorded, or undefined if the table does not exist. For a table of an
 * older version, which has no record, derives it from the current columns.
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
 * Plans the columns of a table after a load, from its last load (`entry`) and its current columns. Throws the errors of
 * `planLoad`.
 *
 * - `staging` is the staging table, once the rows are written. `filledNames` are the columns that the source or a
 *   transformation filled; undefined means all.
 * - `loaded.reading` is the state that the source receives at the next load.
 */
export function planTableAfterLoad(
  currentShape: ClickHouseShape | undefined,
  entry: LedgerEntry | undefined,
  loaded: MeasuredLoad & { reading?: unknown },
  staging?: { columns: readonly StagingColumn[]; filledNames: readonly string[] | undefined },
): LoadPlan {
  const previousShape = previousSourceShape(currentShape, entry)
  const plan = planLoad(typeRules, previousShape, loaded)
  // Before the rows are written, the staging table will have the planned columns.
  const stagedColumns = staging
    ? staging.columns.filter(({ name }) => !staging.filledNames || staging.filledNames.includes(name))
    : plan.columns.filter(({ ignored }) => !ignored)
  const merging = loaded.merging ?? loaded.target.shape?.merging === true
  // The load has no values for columns that only the table has.
  const currentColumns = currentShape?.columns.map(emptyColumn)
  const table = planTable(typeRules, currentColumns, stagedColumns.map(stagingColumn), plan, { merging })
  // An earlier call of `completeStaging` may have added some of the missing columns to the staging table.
  const stagingNames = new Set(staging?.columns.map(({ name }) => name))
  const missing = table.missing.filter(({ name }) => !stagingNames.has(name))
  const sourceShape = sourceShapeAfterLoad(loaded.target, previousShape, table.recordedColumns, loaded.reading)
  return { planned: plan.columns, table: { ...table, missing }, sourceShape }
}
