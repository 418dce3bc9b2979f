import type { SchemaChanges } from '@sluice/contracts'
import type { Column, StoredType, TableChange } from '../load-target.ts'
import { typeName } from './widen-types.ts'
import { type ReaderAdvice, type TypeEvidence, rebuildAdvice } from '@sluice/row-stream'
import {
  type SourceShape,
  type PreviousSourceColumn,
  type StoredAs,
  hadValues,
  hasNoValueYet,
  sourceFormatAfterLoad,
} from './previous-source-columns.ts'

/** The type rules of a warehouse: how each data type is stored, and which type stores the values of two types. */
export interface TypeRules {
  storedAs(type: StoredType): StoredAs
  widest(one: StoredAs, other: StoredAs): StoredAs
}

export interface SourceColumn extends Column {
  evidence?: TypeEvidence
  dayFirst?: boolean
  /** The format in which the source prints all values. Absent if they have several formats. */
  sourceFormat?: string
}

export interface NewLoad {
  columns: readonly SourceColumn[]
  /** True if the source omits a column when no record has a value for it. */
  sparse?: boolean
  definition?: string
  /** The number of source rows before transformations. Absent until all rows are read. */
  rows?: number
  /** True if existing rows stay in the table. */
  merging?: boolean
  /**
   * True if the load (the rows of one table from the source) has all columns of the source although existing rows stay.
   */
  hasAllColumns?: boolean
}

/** True if the load contains only changes of the source. Columns without a change can then be absent. */
const isIncrement = ({ merging = false, hasAllColumns = false }: NewLoad): boolean => merging && !hasAllColumns

export interface ShapePolicy {
  schemaChanges?: SchemaChanges
  /** True if columns and types must come from this load alone. */
  rebuild?: boolean
}

export interface PlannedColumn extends PreviousSourceColumn {
  primaryKey: boolean
  /** True if the source has the column and the table excludes it. */
  ignored?: true
}

export interface ShapePlan {
  /** One entry per source column, in the source's order. */
  columns: PlannedColumn[]
  /** Columns of earlier loads that the source no longer has. The table keeps them, with NULL in new rows. */
  keptColumns: PreviousSourceColumn[]
  /** Columns with a type that was undecided and that this load decides. */
  decided: string[]
  /** The reason why columns and types come from this load alone. Absent otherwise. */
  rebuildReason?: 'REBUILD' | 'POLICY' | 'DEFINITION'
  /** The changes between the last load and this one. `planTable` returns the changes of the table. */
  changes: TableChange[]
  /** The source columns that the published table records, for comparison with the next load. */
  recordedColumns: PreviousSourceColumn[]
}

/** The reason for rejecting a load. The published rows stay. */
export interface ShapeRefusal {
  code: 'SCHEMA_MISMATCH' | 'DATES_AMBIGUOUS'
  /** A clause that completes “… because …” in a sentence that warns the user before the load. */
  reason: string
  /** A sentence about how to correct the source, if `reason` does not. */
  correction?: string
  sentence: string
  advice: ReaderAdvice
}

export const isRefusal = (plan: ShapePlan | ShapeRefusal): plan is ShapeRefusal => 'code' in plan

/**
 * Plans the columns of a table from its last load, the new load and the policy for column changes. A load is one
 * stream of source rows for a table. Every warehouse calls this function when it creates a staging table and again,
 * with `final`, when it publishes the rows and all of them were read. Returns a refusal instead of a plan if the
 * load must be rejected, see `findRefusal`.
 */
export function planShape(
  rules: TypeRules,
  previousShape: SourceShape | undefined,
  load: NewLoad,
  policy: ShapePolicy,
  { final = false } = {},
): ShapePlan | ShapeRefusal {
  const rebuildReason = findRebuildReason(previousShape, load, policy)
  const previousColumns = previousShape?.columns ?? []
  const comparedColumns = rebuildReason === 'REBUILD' ? [] : previousColumns
  const previousByName = new Map(comparedColumns.map((column) => [column.name, column]))
  const plannedColumns = load.columns.map((column) =>
    planColumn(rules, previousByName.get(column.name), column, load, rebuildReason),
  )
  if (previousShape && rebuildReason !== 'REBUILD') {
    const refusal = findRefusal(rules, previousColumns, plannedColumns, load, policy, { rebuildReason, final })
    if (refusal) return refusal
  }
  const ignoresNewColumns = policy.schemaChanges === 'IGNORE_NEW' && !rebuildReason && previousColumns.length > 0
  const columns = plannedColumns.map((column): PlannedColumn => {
    const isNew = !previousByName.has(column.name) && !column.primaryKey
    return ignoresNewColumns && isNew ? { ...column, ignored: true } : column
  })
  const plannedNames = new Set(plannedColumns.map(({ name }) => name))
  const keptColumns = rebuildReason ? [] : previousColumns.filter(({ name }) => !plannedNames.has(name))
  const vanishingColumns = isIncrement(load) ? [] : keptColumns.filter(({ vanished }) => !vanished)
  // A sparse source omits a column without values, so an absent column causes no warning.
  const warning = load.sparse ? {} : { warning: true as const }
  return {
    columns,
    keptColumns,
    decided: plannedColumns
      .filter(({ name, undecided }) => previousByName.get(name)?.undecided && !undecided)
      .map(({ name }) => name),
    ...(rebuildReason && { rebuildReason }),
    changes: [
      ...vanishingColumns.map(({ name }): TableChange => ({ kind: 'COLUMN_VANISHED', column: name, ...warning })),
      ...listEmptiedColumns(previousByName, load, rebuildReason),
    ],
    recordedColumns: [
      ...columns.filter(({ ignored }) => !ignored).map(toRecordedColumn),
      ...keptColumns.map((column) => (isIncrement(load) ? column : toVanishedColumn(column, load))),
    ],
  }
}

/**
 * Returns the refusal of a load if a change is forbidden by the policy FAIL, the source probably is a wrong or a
 * damaged file, or dates are ambiguous after all rows were read (`final`). Otherwise returns undefined. If columns and
 * types come from this load alone, any file is accepted.
 */
function findRefusal(
  rules: TypeRules,
  previousColumns: readonly PreviousSourceColumn[],
  plannedColumns: readonly PlannedColumn[],
  load: NewLoad,
  policy: ShapePolicy,
  { rebuildReason, final }: { rebuildReason: ShapePlan['rebuildReason']; final: boolean },
): ShapeRefusal | undefined {
  const changeRefusal = refuseForbiddenChanges(rules, previousColumns, plannedColumns, load, policy)
  if (changeRefusal) return changeRefusal
  if (!rebuildReason) {
    const fileRefusal =
      refuseDifferentSource(previousColumns, plannedColumns, load) ?? refuseLostLineEnds(previousColumns, load)
    if (fileRefusal) return fileRefusal
  }
  return final ? refuseAmbiguousDates(rules, previousColumns, load) : undefined
}

/**
 * Returns a change for each column that had values in the last load and has none in this load. Returns no change if the
 * load has no rows, is an increment, or follows a change of the source's settings.
 */
function listEmptiedColumns(
  previousByName: ReadonlyMap<string, PreviousSourceColumn>,
  load: NewLoad,
  rebuildReason: ShapePlan['rebuildReason'],
): TableChange[] {
  const { columns, rows = 0, merging = false } = load
  if (rows === 0 || isIncrement(load) || rebuildReason === 'DEFINITION') return []
  const emptiedColumns = columns.filter(({ name, evidence }) => {
    const hasValuesNow = evidence !== 'NOTHING'
    const previousColumn = previousByName.get(name)
    return !hasValuesNow && previousColumn !== undefined && hadValues(previousColumn, { keepsRows: merging })
  })
  return emptiedColumns.map(({ name }) => ({ kind: 'COLUMN_EMPTIED', column: name, rows }))
}

/**
 * Marks a column that the load does not have as vanished. If the load replaces all rows, the column also becomes empty
 * and loses its source format.
 */
function toVanishedColumn(column: PreviousSourceColumn, { merging = false }: NewLoad): PreviousSourceColumn {
  if (merging) return { ...column, vanished: true }
  const { sourceFormat: _, ...rest } = column
  return { ...rest, ...(rest.undecided !== 'NOTHING' && { empty: true }), vanished: true }
}

/** Returns whether the column has no value in the table after this load. */
function isEmptyAfterLoad(
  previousColumn: PreviousSourceColumn | undefined,
  { evidence }: SourceColumn,
  { rows, merging = false }: NewLoad,
): boolean {
  const hasLoadedValues = evidence !== 'NOTHING' && rows !== 0
  if (hasLoadedValues) return false
  return !merging || previousColumn === undefined || hasNoValueYet(previousColumn)
}

/** Returns whether the load has no value in the column, and rows that stay can have some. */
function isEmptyInLoad(
  previousColumn: PreviousSourceColumn | undefined,
  { evidence }: SourceColumn,
  load: NewLoad,
): boolean {
  if (!load.merging || isIncrement(load)) return false
  return load.rows === 0 ? previousColumn?.emptyInLoad === true : evidence === 'NOTHING'
}

/**
 * Returns the fields of a planned column that the table records for its next load. Records at most one of the marks for
 * a column without values: `undecided` NOTHING (never had values), `empty` (has none now) or `emptyInLoad` (the load
 * has none).
 */
function toRecordedColumn({
  name,
  label,
  type,
  dataType,
  undecided,
  empty,
  emptyInLoad,
  dayFirst,
  sourceFormat,
}: PlannedColumn): PreviousSourceColumn {
  const hasNeverHadValues = undecided === 'NOTHING'
  return {
    name,
    label,
    type,
    dataType,
    ...(undecided && { undecided }),
    ...(empty && !hasNeverHadValues && { empty }),
    ...(emptyInLoad && !empty && { emptyInLoad }),
    ...(dayFirst !== undefined && { dayFirst }),
    ...(sourceFormat !== undefined && { sourceFormat }),
  }
}

/**
 * Returns the reason why columns and types come from this load alone: a requested rebuild (REBUILD), the policy REPLACE
 * (POLICY), or changed settings of the source (DEFINITION). Returns undefined for other loads, for a first load that is
 * not a rebuild, and for a load that keeps existing rows.
 */
function findRebuildReason(
  previousShape: SourceShape | undefined,
  { merging, definition }: NewLoad,
  policy: ShapePolicy,
): ShapePlan['rebuildReason'] {
  if (merging) return undefined
  if (policy.rebuild) return 'REBUILD'
  if (!previousShape) return undefined
  if (policy.schemaChanges === 'REPLACE') return 'POLICY'
  const previousDefinition = previousShape.definition
  const areKnown = previousDefinition !== undefined && definition !== undefined
  return areKnown && previousDefinition !== definition ? 'DEFINITION' : undefined
}

/** Returns a column as it is in the table after the load, with its type, its marks and its source format. */
function planColumn(
  rules: TypeRules,
  previousColumn: PreviousSourceColumn | undefined,
  column: SourceColumn,
  load: NewLoad,
  rebuildReason: ShapePlan['rebuildReason'],
): PlannedColumn {
  const { merging = false, rows } = load
  const { name, label, primaryKey = false } = column
  const plannedType = planType(rules, previousColumn, column, { merging, rebuildReason })
  const dayFirst = column.dayFirst ?? previousColumn?.dayFirst
  const sourceFormat = sourceFormatAfterLoad(plannedType.dataType, column, { previousColumn, merging, rows })
  return {
    name,
    label,
    primaryKey,
    ...(isEmptyAfterLoad(previousColumn, column, load) && { empty: true }),
    ...(isEmptyInLoad(previousColumn, column, load) && { emptyInLoad: true }),
    ...(dayFirst !== undefined && { dayFirst }),
    ...plannedType,
    ...(sourceFormat !== undefined && { sourceFormat }),
  }
}

type PlannedType = Pick<PlannedColumn, 'type' | 'dataType' | 'undecided'>

/**
 * Returns the type of a column in the table after the load. `evidence` says what the values of the load show:
 *
 * - NOTHING (no values) or AMBIGUOUS (dates with day or month first): see the two functions for these cases.
 * - A type: normally the type that stores the values of the last load and of the new one. The type of the new load
 *   alone if the column is new, its type was undecided, the user requested the type, or the table is rebuilt.
 */
function planType(
  rules: TypeRules,
  previousColumn: PreviousSourceColumn | undefined,
  column: SourceColumn,
  { merging, rebuildReason }: { merging: boolean; rebuildReason: ShapePlan['rebuildReason'] },
): PlannedType {
  const { evidence } = column
  if (evidence === 'AMBIGUOUS') return planTypeOfAmbiguousDates(rules, previousColumn)
  if (evidence === 'NOTHING') return planTypeWithoutValues(rules, previousColumn)
  const sourceType = rules.storedAs(column)
  if (!previousColumn) return sourceType
  if (evidence === 'REQUESTED' && !merging) return sourceType
  const widestType = rules.widest(previousColumn, sourceType)
  // Rows that stay may contain texts with day and month in either order, so the column stays text.
  if (previousColumn.undecided === 'AMBIGUOUS' && merging) return { ...widestType, undecided: 'AMBIGUOUS' }
  if (previousColumn.undecided || rebuildReason) return sourceType
  return widestType
}

/**
 * Returns text, which stores the dates as written. A column that already stores text keeps its text type. If the column
 * has another type, `refuseAmbiguousDates` rejects the load once all rows are read.
 */
function planTypeOfAmbiguousDates(rules: TypeRules, previousColumn: PreviousSourceColumn | undefined): PlannedType {
  const keepsType = previousColumn !== undefined && storesText(previousColumn)
  const { type, dataType } = keepsType ? previousColumn : rules.storedAs({ dataType: 'TEXT' })
  const hasDecidedType = previousColumn !== undefined && previousColumn.undecided === undefined
  return { type, dataType, ...(!hasDecidedType && { undecided: 'AMBIGUOUS' }) }
}

/** Returns the type of the last load or, for a new column, text until a load has values. */
function planTypeWithoutValues(rules: TypeRules, previousColumn: PreviousSourceColumn | undefined): PlannedType {
  if (!previousColumn) return { ...rules.storedAs({ dataType: 'TEXT' }), undecided: 'NOTHING' }
  const { type, dataType, undecided } = previousColumn
  return { type, dataType, ...(undecided && { undecided }) }
}

const hasNotVanished = ({ vanished }: PreviousSourceColumn): boolean => !vanished

/**
 * Rejects a source with a header and no rows if it probably is a file with lost line ends. Such a file has a single
 * line, so all its values are read as column names. `describeLostLineEnds` decides by the new names.
 */
function refuseLostLineEnds(previousColumns: readonly PreviousSourceColumn[], load: NewLoad): ShapeRefusal | undefined {
  const { columns, rows, sparse } = load
  if (rows !== 0 || sparse || isIncrement(load)) return undefined
  const lastColumns = previousColumns.filter(hasNotVanished)
  if (lastColumns.length === 0) return undefined
  const previousNames = new Set(previousColumns.map(({ name }) => name))
  // A database reports the column types of an empty table too. Such columns are real, so the check ignores them.
  const addedColumns = columns.filter(({ name, evidence }) => evidence === 'NOTHING' && !previousNames.has(name))
  const reason = describeLostLineEnds(addedColumns, columns.length)
  if (reason === undefined) return undefined
  const correction = 'Check the line ends of the file.'
  return {
    code: 'SCHEMA_MISMATCH',
    reason: `the source has no rows and ${reason}`,
    correction,
    sentence: `The source has no rows and ${reason}, so nothing was loaded; the old data stays. ${correction} ${describeColumnLists(lastColumns, columns)}`,
    advice: rebuildAdvice('To take the new columns'),
  }
}

/** Returns the sign that the added columns are values of a file with lost line ends, or undefined without a sign. */
function describeLostLineEnds(addedColumns: readonly SourceColumn[], columnCount: number): string | undefined {
  // A header and at least one row of values have the same length, so at least half of the names are values.
  if (addedColumns.length * 2 >= columnCount) return `${addedColumns.length} of its ${columnCount} columns are new`
  // A name with digits and without letters is probably a value.
  const valueLikeColumn = addedColumns.find(({ label }) => /\p{Nd}/u.test(label) && !/\p{L}/u.test(label))
  return valueLikeColumn && `the name of its new column "${valueLikeColumn.label}" looks like a value`
}

/**
 * Rejects a load under the policy FAIL if it adds a column or changes a type that earlier loads decided. Also rejects
 * it if it lacks a column of the last load, unless it is an increment.
 */
function refuseForbiddenChanges(
  rules: TypeRules,
  previousColumns: readonly PreviousSourceColumn[],
  plannedColumns: readonly PlannedColumn[],
  load: NewLoad,
  { schemaChanges }: ShapePolicy,
): ShapeRefusal | undefined {
  if (schemaChanges !== 'FAIL') return undefined
  const lastColumns = previousColumns.filter(hasNotVanished)
  if (lastColumns.length === 0) return undefined
  const lastColumnsByName = new Map(lastColumns.map((column) => [column.name, column]))
  const plannedNames = new Set(plannedColumns.map(({ name }) => name))
  const addedNames = plannedColumns.map(({ name }) => name).filter((name) => !lastColumnsByName.has(name))
  const missingNames = isIncrement(load)
    ? []
    : lastColumns.map(({ name }) => name).filter((name) => !plannedNames.has(name))
  const typeChanges = plannedColumns.flatMap((column) => {
    const lastColumn = lastColumnsByName.get(column.name)
    if (!lastColumn || lastColumn.undecided || lastColumn.type === column.type) return []
    return [`"${column.name}" needs ${typeName(rules, column)} instead of ${typeName(rules, lastColumn)}`]
  })
  const changes = [
    ...addedNames.map((name) => `"${name}" is new`),
    ...missingNames.map((name) => `"${name}" is missing`),
    ...typeChanges,
  ]
  if (changes.length === 0) return undefined
  return {
    code: 'SCHEMA_MISMATCH',
    reason: `schemaChanges is FAIL${typeChanges.length > 0 ? ` and column ${joinFirst(typeChanges)}` : ''}`,
    sentence: `The columns of the source changed, and schemaChanges is FAIL: ${joinFirst(changes)}. The old data stays. ${describeColumnLists(lastColumns, load.columns)} Correct the source.`,
    advice: typeChanges.length > 0 ? retypedAdvice : rebuildAdvice('To take the new columns'),
  }
}

/** Joins the first texts with commas, and adds the number of the other ones. */
function joinFirst(texts: readonly string[]): string {
  const joinedTexts = texts.slice(0, maxNamedColumns).join(', ')
  return texts.length > maxNamedColumns ? `${joinedTexts}, and ${texts.length - maxNamedColumns} more` : joinedTexts
}

const newTypes = rebuildAdvice('To take the new columns and types')
const retypedAdvice: ReaderAdvice = {
  ...newTypes,
  pipeline: `To keep a type, set dataType of the column in csvOptions.columns (files), or cast the column in the query (databases). ${newTypes.pipeline}`,
}

/**
 * Rejects a load that has none of the last load's columns, fewer than half of them, or a single column instead of
 * several. It is probably a wrong file, or an error page instead of data. A sparse load is rejected only if it has
 * none of them. Does not check increments.
 */
function refuseDifferentSource(
  previousColumns: readonly PreviousSourceColumn[],
  plannedColumns: readonly PlannedColumn[],
  load: NewLoad,
): ShapeRefusal | undefined {
  if (isIncrement(load)) return undefined
  const lastColumns = previousColumns.filter(hasNotVanished)
  if (lastColumns.length === 0) return undefined
  const reason = describeDifferentSource(lastColumns, plannedColumns, load)
  if (reason === undefined) return undefined
  return {
    code: 'SCHEMA_MISMATCH',
    reason: `the source ${reason}`,
    sentence: `The source ${reason}, so nothing was loaded; the old data stays. ${describeColumnLists(lastColumns, load.columns)}`,
    advice: rebuildAdvice('To take the new columns'),
  }
}

/** Returns the sign that a load comes from another source than the last load. Undefined without such a sign. */
function describeDifferentSource(
  lastColumns: readonly PreviousSourceColumn[],
  plannedColumns: readonly PlannedColumn[],
  { sparse = false }: NewLoad,
): string | undefined {
  const plannedNames = new Set(plannedColumns.map(({ name }) => name))
  const commonCount = lastColumns.filter(({ name }) => plannedNames.has(name)).length
  if (commonCount === 0) return 'has no column of the last load'
  if (sparse) return undefined
  if (plannedNames.size === 1 && lastColumns.length > 1)
    return `has one column where the last load had ${lastColumns.length}`
  if (commonCount * 2 < lastColumns.length)
    return `has only ${commonCount} of the ${lastColumns.length} columns of the last load`
  return undefined
}

/**
 * Rejects ambiguous dates (day or month first) for a column that is not text in the table. A text column stores them as
 * written.
 */
function refuseAmbiguousDates(
  rules: TypeRules,
  previousColumns: readonly PreviousSourceColumn[],
  { columns }: NewLoad,
): ShapeRefusal | undefined {
  const previousByName = new Map(previousColumns.map((column) => [column.name, column]))
  const column = columns.find(({ name, evidence }) => {
    const previousColumn = previousByName.get(name)
    return evidence === 'AMBIGUOUS' && previousColumn !== undefined && !storesText(previousColumn)
  })
  if (!column) return undefined
  const problem = `"${column.label}" is ${typeName(rules, previousByName.get(column.name)!)} in the table, and day and month of its new values are ambiguous`
  const correction = 'Write its dates as YYYY-MM-DD.'
  return {
    code: 'DATES_AMBIGUOUS',
    reason: `column ${problem}`,
    correction,
    sentence: `Column ${problem}. The old data stays. ${correction}`,
    advice: { pipeline: 'Alternatively, set dateFormat of the column.' },
  }
}

const storesText = ({ dataType }: StoredAs): boolean => /^(TEXT|VARCHAR|CHARACTER)/.test(dataType)

const maxNamedColumns = 20

type NamedColumns = readonly { name: string }[]

const describeColumnLists = (lastColumns: NamedColumns, currentColumns: NamedColumns): string =>
  `Columns of the last load: ${formatColumnNames(lastColumns)}. Columns of the source now: ${formatColumnNames(currentColumns)}.`

function formatColumnNames(columns: NamedColumns): string {
  if (columns.length === 0) return 'none'
  const listedNames = columns
    .slice(0, maxNamedColumns)
    .map(({ name }) => `"${name}"`)
    .join(', ')
  return columns.length > maxNamedColumns ? `${listedNames} and ${columns.length - maxNamedColumns} more` : listedNames
}
