import { sourceShapeOfTable, type SourceShape } from '../../shape/previous-source-columns.ts'
import { type MeasuredLoad, sourceShapeAfterLoad, planLoad } from '../../shape/plan-load.ts'
import type { PlannedColumn } from '../../shape/plan-shape.ts'
import { planTable } from '../../shape/plan-table.ts'
import type { TableChange } from '../../warehouse.ts'
import type { SqlDialect } from '../sql-dialect.ts'
import type { TableShape } from '../table-shape.ts'
import { emptyColumn, stagingColumn, type StagingColumn, typeRules } from './staging-columns.ts'

/**
 * Returns the shape that the table's last load recorded, or undefined if the table does not exist. For a table of an older
 * version, which has no record, derives it from the current columns.
 */
export const previousSourceShape = (currentShape: TableShape | undefined): SourceShape | undefined =>
  currentShape &&
  (currentShape.metadata?.feed ?? sourceShapeOfTable(currentShape.columns, currentShape.metadata?.fed ?? []))

export interface LoadPlan {
  /** One entry per source column, in the source's order. */
  planned: PlannedColumn[]
  /** The table's columns after publication, in order. */
  columns: StagingColumn[]
  changes: TableChange[]
  sourceShape: SourceShape
}

/**
 * Plans the columns of a table after a load, from its last load and its current columns. `reading` is the state that
 * the source receives at the next load. Throws the errors of `planLoad`.
 */
export function planTableAfterLoad(
  { types }: SqlDialect,
  currentShape: TableShape | undefined,
  loaded: MeasuredLoad & { reading?: unknown },
): LoadPlan {
  const rules = typeRules(types)
  const previousShape = previousSourceShape(currentShape)
  const plan = planLoad(rules, previousShape, loaded)
  const stagedColumns = plan.columns.filter(({ ignored }) => !ignored).map(stagingColumn)
  const merging = loaded.merging ?? loaded.target.shape?.merging === true
  // The load has no values for columns that only the table has.
  const currentColumns = currentShape?.columns.map(emptyColumn)
  const table = planTable(rules, currentColumns, stagedColumns, plan, { merging })
  const sourceShape = sourceShapeAfterLoad(loaded.target, previousShape, table.recordedColumns, loaded.reading)
  return { planned: plan.columns, columns: table.columns, changes: table.changes, sourceShape }
}
