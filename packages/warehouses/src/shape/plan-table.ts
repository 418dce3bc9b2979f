import type { TableChange } from '../load-target.ts'
import type { PreviousSourceColumn, StoredAs } from './previous-source-columns.ts'
import type { ShapePlan, TypeRules } from './plan-shape.ts'
import { typeName } from './widen-types.ts'

export interface TableColumn extends StoredAs {
  name: string
  label: string
}

export interface TablePlan<Column extends TableColumn> {
  /** The columns of the table after the publication: existing columns in their order, then new ones. */
  columns: Column[]
  /** Planned columns that the staging table lacks. */
  missing: Column[]
  dropped: string[]
  retyped: Column[]
  /** Staged columns that must be widened, so that the rows that stay in the table fit. */
  restaged: Column[]
  changes: TableChange[]
  memory: PreviousSourceColumn[]
}

/**
 * Plans the columns of a table from the staged columns, which a transformation may have changed. The table keeps
 * columns that only earlier loads had, without values in new rows. Columns that neither the source nor the
 * transformation produces any more are dropped. A merge keeps existing rows, so it drops no column.
 */
export function planTable<Column extends TableColumn>(
  rules: TypeRules,
  currentColumns: readonly Column[] | undefined,
  stagedColumns: readonly Column[],
  plan: ShapePlan,
  { merging = false } = {},
): TablePlan<Column> {
  const stagedByName = new Map(stagedColumns.map((column) => [column.name, column]))
  const memory = plan.memory.filter(({ name, vanished }) => !vanished || !stagedByName.has(name))
  if (!currentColumns) {
    const changes = plan.changes.filter(({ kind }) => kind === 'PART_NOT_READ')
    return { columns: [...stagedColumns], missing: [], dropped: [], retyped: [], restaged: [], changes, memory }
  }
  const keptNames = new Set(plan.keptColumns.map(({ name }) => name))
  const missingColumns = currentColumns.filter(
    ({ name }) => !stagedByName.has(name) && (merging || keptNames.has(name)),
  )
  const droppedFromTable = currentColumns.filter(
    (column) => !stagedByName.has(column.name) && !missingColumns.includes(column),
  )
  const liveColumns = new Map(currentColumns.map((column) => [column.name, column]))
  const addedColumns = stagedColumns.filter(({ name }) => !liveColumns.has(name))
  // If no earlier load decided the column's type, the column has no values that the new type must fit.
  const mergeTypes = (currentColumn: Column, column: Column): Column =>
    merging && !plan.decided.includes(column.name) ? { ...column, ...rules.widest(currentColumn, column) } : column
  const stayingColumns = currentColumns.flatMap((column) => {
    const stagedColumn = stagedByName.get(column.name)
    if (stagedColumn) return [mergeTypes(column, stagedColumn)]
    return missingColumns.includes(column) ? [column] : []
  })
  const retypedColumns = stayingColumns.filter(({ name, type }) => liveColumns.get(name)!.type !== type)
  const typeChanges = retypedColumns.map((column): TableChange => {
    const currentColumn = liveColumns.get(column.name)!
    const isWider = rules.widest(currentColumn, column).type === column.type && !plan.decided.includes(column.name)
    return {
      kind: isWider ? 'TYPE_WIDENED' : 'TYPE_CHANGED',
      column: column.name,
      from: typeName(rules, currentColumn),
      to: typeName(rules, column),
    }
  })
  const dropChanges = droppedFromTable.map(({ name }): TableChange => ({ kind: 'COLUMN_DROPPED', column: name }))
  const isShapeReplaced =
    plan.rebuildReason === 'DEFINITION' &&
    (dropChanges.length > 0 || typeChanges.some(({ kind }) => kind === 'TYPE_CHANGED'))
  return {
    columns: [...stayingColumns, ...addedColumns],
    missing: missingColumns,
    dropped: droppedFromTable.map(({ name }) => name),
    retyped: retypedColumns,
    restaged: stayingColumns.filter(
      ({ name, type }) => stagedByName.has(name) && stagedByName.get(name)!.type !== type,
    ),
    changes: [
      ...(isShapeReplaced ? [{ kind: 'SHAPE_REPLACED' as const, column: '', warning: true as const }] : []),
      ...typeChanges,
      ...plan.changes,
      ...dropChanges,
      ...addedColumns.map(
        (column): TableChange => ({
          kind: 'COLUMN_ADDED',
          column: column.name,
          to: typeName(rules, column),
        }),
      ),
    ],
    memory,
  }
}

/** A drop in rows is reported if the table had at least 100 rows and keeps less than 10 % of them. */
const manyRows = 100
const minRowShare = 0.1

/** Reports a load with fewer than a tenth of the table's previous rows. */
export function rowsFell(before: number | undefined, now: number): TableChange | undefined {
  if (before === undefined || before < manyRows || now >= before * minRowShare) return undefined
  return { kind: 'ROWS_FELL', column: '', from: String(before), to: String(now), warning: true }
}
