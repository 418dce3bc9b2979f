import { type ColumnFacts, type LoadTarget, type TableChange, WarehouseProblem } from '../warehouse.ts'
import type { SourceShape, PreviousSourceColumn } from './previous-source-columns.ts'
import { rebuildAdvice } from '@sluice/row-stream'
import { isRefusal, planShape, type ShapePlan, type SourceColumn, type TypeRules } from './plan-shape.ts'
import { findRowLoss } from './plan-table.ts'

/** A load and, after all rows were read, statistics of its columns. */
export interface MeasuredLoad {
  target: LoadTarget
  /** Statistics of each column's values. Absent until all rows are read. */
  columnFacts?: readonly ColumnFacts[] | undefined
  /** The number of source rows before transformations. Absent until all rows are read. */
  sourceRows?: number | undefined
  /** Whether SQL statements changed the rows, so that the formats of the source do not apply to them. */
  transformed?: boolean
  merging?: boolean
}

/**
 * Plans the columns of a load with `planShape`, from its target and the statistics of its columns. Adds a change
 * PART_NOT_READ if the source was not read completely. Throws `WarehouseProblem` SCHEMA_MISMATCH or DATES_AMBIGUOUS if
 * the load is rejected.
 */
export function planLoad(rules: TypeRules, previousShape: SourceShape | undefined, load: MeasuredLoad): ShapePlan {
  const { target, columnFacts, sourceRows, transformed = false } = load
  const { schemaChanges, rebuild = false, definition, unread, ...shape } = target.shape ?? {}
  const { sparse = false, merging = false, hasAllColumns = false } = shape
  const areAllRowsRead = columnFacts !== undefined
  const plan = planShape(
    rules,
    previousShape && transformed ? withoutSourceFormats(previousShape) : previousShape,
    {
      columns: addColumnFacts(load),
      sparse,
      merging: load.merging ?? merging,
      hasAllColumns,
      ...(definition && { definition }),
      ...(sourceRows !== undefined && { rows: sourceRows }),
    },
    { ...(schemaChanges && { schemaChanges }), rebuild },
    { final: areAllRowsRead },
  )
  if (isRefusal(plan)) throw new WarehouseProblem(plan.code, plan.sentence, { advice: plan.advice })
  if (unread === undefined) return plan
  return { ...plan, changes: [{ kind: 'PART_NOT_READ', column: '', to: unread, warning: true }, ...plan.changes] }
}

/** Returns the columns of a load with the statistics of their values. Without statistics, returns them unchanged. */
function addColumnFacts({ target, columnFacts = [], transformed = false }: MeasuredLoad): SourceColumn[] {
  const factsByColumn = new Map(columnFacts.map((facts) => [facts.column, facts]))
  return target.columns.map((column) => {
    const facts = factsByColumn.get(column.name)
    if (!facts) return column
    // The statistics replace the evidence of the samples, so evidence that is absent in them is removed.
    const { evidence: _, ...columnWithoutEvidence } = column
    const { evidence, dayFirst, sourceFormat } = facts
    return {
      ...columnWithoutEvidence,
      ...(evidence && { evidence }),
      ...(dayFirst !== undefined && { dayFirst }),
      ...(sourceFormat !== undefined && !transformed && { sourceFormat }),
    }
  })
}

/**
 * Returns the shape without the source formats of its columns. They do not apply after SQL statements, which can add
 * values in any format, also to columns that are empty in the source.
 */
function withoutSourceFormats(shape: SourceShape): SourceShape {
  const columns = shape.columns.map((column) => {
    const { sourceFormat: _, ...otherFacts } = column
    return otherFacts
  })
  return { ...shape, columns }
}

/**
 * Returns the record of a load, with which the next load of the table is compared. `columns` are the columns to record.
 * `reading` is the JSON that the source wants to receive at its next load. Without it, the JSON of the previous load
 * stays, except after a rebuild.
 */
export function sourceShapeAfterLoad(
  { shape }: LoadTarget,
  previousShape: SourceShape | undefined,
  columns: PreviousSourceColumn[],
  reading: unknown,
): SourceShape {
  const definition = shape?.definition ?? previousShape?.definition
  const previousReading = shape?.rebuild ? undefined : previousShape?.reading
  const recordedReading = reading ?? previousReading
  return {
    columns: addCreationTimes(columns, previousShape),
    ...(definition !== undefined && { definition }),
    ...(recordedReading !== undefined && { reading: recordedReading }),
  }
}

/**
 * Adds the time at which each column was created: for a column of the last load, the recorded time, if there is one;
 * for a new column, the current time.
 */
function addCreationTimes(
  columns: readonly PreviousSourceColumn[],
  previousShape: SourceShape | undefined,
): PreviousSourceColumn[] {
  const previousByName = new Map(previousShape?.columns.map((column) => [column.name, column]))
  const now = new Date().toISOString()
  return columns.map((column) => {
    const previousColumn = previousByName.get(column.name)
    const created = previousColumn ? previousColumn.created : now
    return { ...column, ...(created !== undefined && { created }) }
  })
}

/**
 * Returns the change ROWS_FELL for a load that replaces the table with far fewer rows than it had. Otherwise, and for a
 * rebuild, returns no change. Throws SCHEMA_MISMATCH instead of the change if the policy for column changes is FAIL.
 */
export function reportRowLoss({ shape }: LoadTarget, rowsBefore: number | undefined, rowsNow: number): TableChange[] {
  if (shape?.rebuild) return []
  const rowLoss = findRowLoss(rowsBefore, rowsNow)
  if (!rowLoss) return []
  if (shape?.schemaChanges === 'FAIL')
    throw new WarehouseProblem(
      'SCHEMA_MISMATCH',
      `The source has ${rowsNow} rows where the table has ${rowsBefore}, and schemaChanges is FAIL. The old data stays. Check that the source is complete.`,
      { advice: rebuildAdvice('To load it as it is') },
    )
  return [rowLoss]
}
