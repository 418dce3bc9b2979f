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
  /** The names of the current columns that the publication removes. */
  dropped: string[]
  /** The current columns that get another type, with this type. */
  retyped: Column[]
  /** Staged columns that must be widened, so that the rows that stay in the table fit. */
  restaged: Column[]
  changes: TableChange[]
  /** The source columns that the published table records, for comparison with the next load. */
  recordedColumns: PreviousSourceColumn[]
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
  const recordedColumns = plan.recordedColumns.filter(({ name, vanished }) => !vanished || !stagedByName.has(name))
  if (!currentColumns)
    return {
      columns: [...stagedColumns],
      missing: [],
      dropped: [],
      retyped: [],
      restaged: [],
      changes: plan.changes.filter(({ kind }) => kind === 'PART_NOT_READ'),
      recordedColumns,
    }
  const keptNames = new Set(plan.keptColumns.map(({ name }) => name))
  const unstagedColumns = currentColumns.filter(({ name }) => !stagedByName.has(name))
  const missingColumns = unstagedColumns.filter(({ name }) => merging || keptNames.has(name))
  const droppedColumns = unstagedColumns.filter((column) => !missingColumns.includes(column))
  const currentByName = new Map(currentColumns.map((column) => [column.name, column]))
  const addedColumns = stagedColumns.filter(({ name }) => !currentByName.has(name))
  // If no earlier load decided the column's type, the column has no values that the new type must fit.
  const mergeTypes = (currentColumn: Column, stagedColumn: Column): Column =>
    merging && !plan.decided.includes(stagedColumn.name)
      ? { ...stagedColumn, ...rules.widest(currentColumn, stagedColumn) }
      : stagedColumn
  const stayingColumns = currentColumns.flatMap((column) => {
    const stagedColumn = stagedByName.get(column.name)
    if (stagedColumn) return [mergeTypes(column, stagedColumn)]
    return missingColumns.includes(column) ? [column] : []
  })
  const retypedColumns = stayingColumns.filter(({ name, type }) => currentByName.get(name)!.type !== type)
  const typeChanges = retypedColumns.map((column) =>
    describeTypeChange(rules, currentByName.get(column.name)!, column, plan),
  )
  return {
    columns: [...stayingColumns, ...addedColumns],
    missing: missingColumns,
    dropped: droppedColumns.map(({ name }) => name),
    retyped: retypedColumns,
    restaged: stayingColumns.filter(({ name, type }) => {
      const stagedColumn = stagedByName.get(name)
      return stagedColumn !== undefined && stagedColumn.type !== type
    }),
    changes: listTableChanges(rules, plan, { typeChanges, droppedColumns, addedColumns }),
    recordedColumns,
  }
}

/**
 * Returns the changes of an existing table. The first one is SHAPE_REPLACED if the settings of the source changed and
 * the table thereby loses a column or gets a type that cannot store the earlier values of a column.
 */
function listTableChanges(
  rules: TypeRules,
  plan: ShapePlan,
  {
    typeChanges,
    droppedColumns,
    addedColumns,
  }: { typeChanges: TableChange[]; droppedColumns: readonly TableColumn[]; addedColumns: readonly TableColumn[] },
): TableChange[] {
  const haveSettingsChanged = plan.rebuildReason === 'DEFINITION'
  const losesValues = droppedColumns.length > 0 || typeChanges.some(({ kind }) => kind === 'TYPE_CHANGED')
  const shapeReplaced: TableChange = { kind: 'SHAPE_REPLACED', column: '', warning: true }
  return [
    ...(haveSettingsChanged && losesValues ? [shapeReplaced] : []),
    ...typeChanges,
    ...plan.changes,
    ...droppedColumns.map(({ name }): TableChange => ({ kind: 'COLUMN_DROPPED', column: name })),
    ...addedColumns.map(
      (column): TableChange => ({ kind: 'COLUMN_ADDED', column: column.name, to: typeName(rules, column) }),
    ),
  ]
}

/**
 * Returns TYPE_WIDENED if the new type stores all values of the current type. Returns TYPE_CHANGED otherwise, and if
 * the load decides a type that was undecided.
 */
function describeTypeChange(
  rules: TypeRules,
  currentColumn: TableColumn,
  newColumn: TableColumn,
  { decided }: ShapePlan,
): TableChange {
  const isWider = rules.widest(currentColumn, newColumn).type === newColumn.type
  const wasUndecided = decided.includes(newColumn.name)
  return {
    kind: isWider && !wasUndecided ? 'TYPE_WIDENED' : 'TYPE_CHANGED',
    column: newColumn.name,
    from: typeName(rules, currentColumn),
    to: typeName(rules, newColumn),
  }
}

/** A loss of rows is reported if the table had at least 100 rows and keeps less than 10 % of them. */
const minRowsBefore = 100
const minRowShare = 0.1

/**
 * Returns the change ROWS_FELL if the table had at least 100 rows and the load has less than a tenth of them. Otherwise
 * returns undefined.
 */
export function findRowLoss(rowsBefore: number | undefined, rowsNow: number): TableChange | undefined {
  if (rowsBefore === undefined || rowsBefore < minRowsBefore) return undefined
  if (rowsNow >= rowsBefore * minRowShare) return undefined
  return { kind: 'ROWS_FELL', column: '', from: String(rowsBefore), to: String(rowsNow), warning: true }
}
