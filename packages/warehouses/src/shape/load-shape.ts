import { type ColumnFacts, type LoadTarget, type TableChange, WarehouseProblem } from '../warehouse.ts'
import type { SourceShape, PreviousSourceColumn } from './previous-source-columns.ts'
import { rebuildAdvice } from '@sluice/row-stream'
import { isRefusal, planShape, type ShapePlan, type TypeRules } from './plan-shape.ts'
import { rowsFell } from './plan-table.ts'

/** A load and, after all rows were read, statistics of its columns. */
export interface MeasuredLoad {
  target: LoadTarget
  /** Statistics of each column's values. Absent until all rows are read. */
  held?: readonly ColumnFacts[] | undefined
  /** The number of source rows before transformations. Absent until all rows are read. */
  sourceRows?: number | undefined
  /** Whether SQL statements changed the rows, so that source formats of the source do not hold for them. */
  transformed?: boolean
  merging?: boolean
}

/**
 * Runs `planShape` for a load. Throws `WarehouseProblem` SCHEMA_MISMATCH or DATES_AMBIGUOUS if the load is rejected.
 */
export function planLoad(rules: TypeRules, previousShape: SourceShape | undefined, load: MeasuredLoad): ShapePlan {
  const { target, held: heldColumns, sourceRows, transformed = false } = load
  const last = previousShape && transformed ? withoutSourceFormats(previousShape) : previousShape
  const { schemaChanges, rebuild, definition, sparse, unread, merging, hasAllColumns } = target.shape ?? {}
  const factsByColumn = new Map(heldColumns?.map((column) => [column.column, column]))
  const columns = target.columns.map((column) => {
    const columnFacts = factsByColumn.get(column.name)
    if (!columnFacts) return column
    const { evidence: _, ...rest } = column
    const { evidence, dayFirst, sourceFormat } = columnFacts
    return {
      ...rest,
      ...(evidence && { evidence }),
      ...(dayFirst !== undefined && { dayFirst }),
      ...(sourceFormat !== undefined && !transformed && { sourceFormat }),
    }
  })
  const plan = planShape(
    rules,
    last,
    {
      columns,
      sparse: sparse === true,
      merging: load.merging ?? merging === true,
      hasAllColumns: hasAllColumns === true,
      ...(definition && { definition }),
      ...(sourceRows !== undefined && { rows: sourceRows }),
    },
    { ...(schemaChanges && { schemaChanges }), rebuild: rebuild === true },
    { final: heldColumns !== undefined },
  )
  if (isRefusal(plan)) throw new WarehouseProblem(plan.code, plan.sentence, { advice: plan.advice })
  if (unread === undefined) return plan
  return { ...plan, changes: [{ kind: 'PART_NOT_READ', column: '', to: unread, warning: true }, ...plan.changes] }
}

/** SQL statements can add values in any format, also to columns that are empty in the source. */
function withoutSourceFormats(shape: SourceShape): SourceShape {
  const columns = shape.columns.map((column) => {
    const { sourceFormat: _, ...otherFacts } = column
    return otherFacts
  })
  return { ...shape, columns }
}

/** Returns the memory that a published table keeps. `reading` is passed to the source at the next load. */
export function memoryOf(
  { shape }: LoadTarget,
  last: SourceShape | undefined,
  columns: PreviousSourceColumn[],
  reading: unknown,
): SourceShape {
  const definition = shape?.definition ?? last?.definition
  const lastReading = reading ?? (shape?.rebuild ? undefined : last?.reading)
  return {
    columns: withCreated(columns, last),
    ...(definition !== undefined && { definition }),
    ...(lastReading !== undefined && { reading: lastReading }),
  }
}

/** Copies the creation time of columns that the last load recorded. */
function withCreated(columns: readonly PreviousSourceColumn[], last: SourceShape | undefined): PreviousSourceColumn[] {
  const before = new Map(last?.columns.map((column) => [column.name, column]))
  const now = new Date().toISOString()
  return columns.map((column) => {
    const remembered = before.get(column.name)
    const created = remembered ? remembered.created : now
    return { ...column, ...(created !== undefined && { created }) }
  })
}

/**
 * Reports a load that replaces the table with far fewer rows than it had. Throws SCHEMA_MISMATCH if the pipeline allows
 * no changes.
 */
export function fallOfRows({ shape }: LoadTarget, before: number | undefined, now: number): TableChange[] {
  const fall = shape?.rebuild ? undefined : rowsFell(before, now)
  if (fall && shape?.schemaChanges === 'FAIL')
    throw new WarehouseProblem(
      'SCHEMA_MISMATCH',
      `The source has ${now} rows where the table has ${before}, and schemaChanges is FAIL. The old data stays. Check that the source is complete.`,
      { advice: rebuildAdvice('To load it as it is') },
    )
  return fall ? [fall] : []
}
