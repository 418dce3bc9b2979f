import type { DataType, SchemaChanges } from '@sluice/contracts'
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
  memory: PreviousSourceColumn[]
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
 * stream of source rows for a table. Every warehouse calls this function when it creates a staging table and again when
 * it
 * publishes the rows. `final` means that all rows were read, so a type that is still undecided stays undecided. Returns
 * a refusal instead if the policy FAIL forbids a change, the load probably is another or a damaged file, or dates are
 * ambiguous.
 */
export function planShape(
  rules: TypeRules,
  previousShape: SourceShape | undefined,
  load: NewLoad,
  policy: ShapePolicy,
  { final = false } = {},
): ShapePlan | ShapeRefusal {
  const rebuildReason = load.merging ? undefined : whyFresh(previousShape, load, policy)
  const rememberedColumns = previousShape?.columns ?? []
  const rememberedByName = new Map(
    (rebuildReason === 'REBUILD' ? [] : rememberedColumns).map((column) => [column.name, column]),
  )
  const plannedColumns = load.columns.map((column) =>
    planColumn(rules, rememberedByName.get(column.name), column, load, rebuildReason),
  )
  if (previousShape && rebuildReason !== 'REBUILD') {
    const refusal =
      refusedChange(rules, rememberedColumns, plannedColumns, load, policy) ??
      (rebuildReason
        ? undefined
        : (refuseDifferentSource(rememberedColumns, plannedColumns, load) ??
          refuseLostLineEnds(rememberedColumns, load))) ??
      (final ? ambiguousDates(rules, rememberedByName, load) : undefined)
    if (refusal) return refusal
  }
  const ignoresNewColumns = policy.schemaChanges === 'IGNORE_NEW' && !rebuildReason && rememberedColumns.length > 0
  const columns = plannedColumns.map((column): PlannedColumn => {
    const isNew = !rememberedByName.has(column.name) && !column.primaryKey
    return ignoresNewColumns && isNew ? { ...column, ignored: true } : column
  })
  const plannedNames = new Set(plannedColumns.map(({ name }) => name))
  const keptColumns = rebuildReason ? [] : rememberedColumns.filter(({ name }) => !plannedNames.has(name))
  const vanishingColumns = isIncrement(load) ? [] : keptColumns.filter(({ vanished }) => !vanished)
  return {
    columns,
    keptColumns,
    decided: plannedColumns
      .filter(({ name, undecided }) => rememberedByName.get(name)?.undecided && !undecided)
      .map(({ name }) => name),
    ...(rebuildReason && { rebuildReason }),
    changes: [
      ...vanishingColumns.map(
        ({ name }): TableChange => ({
          kind: 'COLUMN_VANISHED',
          column: name,
          ...(!load.sparse && { warning: true }),
        }),
      ),
      ...emptiedColumns(rememberedByName, load, rebuildReason),
    ],
    memory: [
      ...columns.filter(({ ignored }) => !ignored).map(toRememberedColumn),
      ...keptColumns.map((column) => (isIncrement(load) ? column : vanishedColumn(column, load))),
    ],
  }
}

/** Reports each column that had values in the last load and has none in this load. Increments need not have values. */
function emptiedColumns(
  rememberedByName: ReadonlyMap<string, PreviousSourceColumn>,
  load: NewLoad,
  rebuildReason: ShapePlan['rebuildReason'],
): TableChange[] {
  const { columns, rows = 0, merging: keepsRows = false } = load
  if (rows === 0 || isIncrement(load) || rebuildReason === 'DEFINITION') return []
  return columns.flatMap(({ name, evidence }): TableChange[] => {
    const rememberedColumn = rememberedByName.get(name)
    return evidence === 'NOTHING' && rememberedColumn && hadValues(rememberedColumn, { keepsRows })
      ? [{ kind: 'COLUMN_EMPTIED', column: name, rows }]
      : []
  })
}

/** Returns a column that the load does not have. Its values stay if the load keeps rows. */
function vanishedColumn(column: PreviousSourceColumn, { merging = false }: NewLoad): PreviousSourceColumn {
  if (merging) return { ...column, vanished: true }
  const { sourceFormat: _, ...rest } = column
  return { ...rest, ...(rest.undecided !== 'NOTHING' && { empty: true }), vanished: true }
}

/** Returns whether the column has no value in the table after this load. */
function isEmpty(
  before: PreviousSourceColumn | undefined,
  { evidence }: SourceColumn,
  { rows, merging = false }: NewLoad,
): boolean {
  if (evidence !== 'NOTHING' && rows !== 0) return false
  return !merging || before === undefined || hasNoValueYet(before)
}

/** Returns whether the load has no value in the column, and rows that stay can have some. */
function isEmptyInLoad(before: PreviousSourceColumn | undefined, { evidence }: SourceColumn, load: NewLoad): boolean {
  if (!load.merging || isIncrement(load)) return false
  return load.rows === 0 ? before?.emptyInLoad === true : evidence === 'NOTHING'
}

function toRememberedColumn({
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
  return {
    name,
    label,
    type,
    dataType,
    ...(undecided && { undecided }),
    ...(empty && undecided !== 'NOTHING' && { empty }),
    ...(emptyInLoad && !empty && { emptyInLoad }),
    ...(dayFirst !== undefined && { dayFirst }),
    ...(sourceFormat !== undefined && { sourceFormat }),
  }
}

function whyFresh(last: SourceShape | undefined, load: NewLoad, policy: ShapePolicy): ShapePlan['rebuildReason'] {
  if (policy.rebuild) return 'REBUILD'
  if (!last) return undefined
  if (policy.schemaChanges === 'REPLACE') return 'POLICY'
  const isRedefined = last.definition !== undefined && load.definition !== undefined
  return isRedefined && last.definition !== load.definition ? 'DEFINITION' : undefined
}

/** Returns a column with its type and its source format in the table after the load. */
function planColumn(
  rules: TypeRules,
  rememberedColumn: PreviousSourceColumn | undefined,
  column: SourceColumn,
  load: NewLoad,
  rebuildReason: ShapePlan['rebuildReason'],
): PlannedColumn {
  const typedColumn = planType(rules, rememberedColumn, column, load, rebuildReason)
  const { merging = false, rows } = load
  const sourceFormat = sourceFormatAfterLoad(typedColumn.dataType, column, { before: rememberedColumn, merging, rows })
  return { ...typedColumn, ...(sourceFormat !== undefined && { sourceFormat }) }
}

/**
 * Returns a column with the type that fits the new load and, unless the table is built afresh, the column of the last
 * load.
 */
function planType(
  rules: TypeRules,
  rememberedColumn: PreviousSourceColumn | undefined,
  column: SourceColumn,
  load: NewLoad,
  rebuildReason: ShapePlan['rebuildReason'],
): PlannedColumn {
  const { merging = false } = load
  const { name, label, evidence, primaryKey = false } = column
  const dayFirst = column.dayFirst ?? rememberedColumn?.dayFirst
  const commonFields = {
    name,
    label,
    primaryKey,
    ...(isEmpty(rememberedColumn, column, load) && { empty: true as const }),
    ...(isEmptyInLoad(rememberedColumn, column, load) && { emptyInLoad: true as const }),
    ...(dayFirst !== undefined && { dayFirst }),
  }
  const sourceType = rules.storedAs(column)
  if (evidence === 'AMBIGUOUS') {
    // Text stores the dates as written. If the column has another type, and the order of day and month is still
    // undecided after all rows, the load is rejected.
    const { type, dataType } =
      rememberedColumn && storesText(rememberedColumn) ? rememberedColumn : rules.storedAs({ dataType: 'TEXT' })
    return {
      ...commonFields,
      type,
      dataType,
      ...((!rememberedColumn || rememberedColumn.undecided) && { undecided: evidence }),
    }
  }
  if (evidence === 'NOTHING') {
    if (!rememberedColumn) return { ...commonFields, ...rules.storedAs({ dataType: 'TEXT' }), undecided: evidence }
    const { type, dataType, undecided } = rememberedColumn
    return { ...commonFields, type, dataType, ...(undecided && { undecided }) }
  }
  if (!rememberedColumn || (evidence === 'REQUESTED' && !merging)) return { ...commonFields, ...sourceType }
  // Rows that stay may contain texts with day and month in either order, so the column stays text.
  if (rememberedColumn.undecided === 'AMBIGUOUS' && merging)
    return { ...commonFields, ...rules.widest(rememberedColumn, sourceType), undecided: rememberedColumn.undecided }
  if (rememberedColumn.undecided || rebuildReason) return { ...commonFields, ...sourceType }
  return { ...commonFields, ...rules.widest(rememberedColumn, sourceType) }
}

/**
 * Rejects a header without rows that looks like a file with lost line ends. Such a file is a single line, so its values
 * appear as further column names after those of the last load. With at least one row of values, at least half of the
 * names are new. As a further sign, a new name with digits and without letters is probably a value.
 */
function refuseLostLineEnds(
  rememberedColumns: readonly PreviousSourceColumn[],
  load: NewLoad,
): ShapeRefusal | undefined {
  const { columns, rows, sparse } = load
  const lastColumnNames = rememberedColumns.filter(({ vanished }) => !vanished)
  if (lastColumnNames.length === 0 || rows !== 0 || sparse || isIncrement(load)) return undefined
  const rememberedNames = new Set(rememberedColumns.map(({ name }) => name))
  // A database reports the column types of an empty table too. Such columns are real, so the check ignores them.
  const addedColumns = columns.filter(({ name, evidence }) => evidence === 'NOTHING' && !rememberedNames.has(name))
  const valueLikeColumn = addedColumns.find(({ label }) => /\p{Nd}/u.test(label) && !/\p{L}/u.test(label))
  const reason =
    addedColumns.length * 2 >= columns.length
      ? `${addedColumns.length} of its ${columns.length} columns are new`
      : valueLikeColumn
        ? `the name of its new column "${valueLikeColumn.label}" looks like a value`
        : undefined
  const correction = 'Check the line ends of the file.'
  return reason === undefined
    ? undefined
    : {
        code: 'SCHEMA_MISMATCH',
        reason: `the source has no rows and ${reason}`,
        correction,
        sentence: `The source has no rows and ${reason}, so nothing was loaded; the old data stays. ${correction} ${describeColumnLists(lastColumnNames, columns)}`,
        advice: rebuildAdvice('To take the new columns'),
      }
}

/**
 * Rejects changes under the policy FAIL: added columns, changes of a decided type and, unless the load is an increment,
 * removed columns.
 */
function refusedChange(
  rules: TypeRules,
  rememberedColumns: readonly PreviousSourceColumn[],
  plannedColumns: readonly PlannedColumn[],
  load: NewLoad,
  { schemaChanges }: ShapePolicy,
): ShapeRefusal | undefined {
  if (schemaChanges !== 'FAIL') return undefined
  const lastColumns = new Map(
    rememberedColumns.filter(({ vanished }) => !vanished).map((column) => [column.name, column]),
  )
  if (lastColumns.size === 0) return undefined
  const plannedNames = new Set(plannedColumns.map(({ name }) => name))
  const retypedTexts = plannedColumns.flatMap((column) => {
    const lastColumn = lastColumns.get(column.name)
    return lastColumn && !lastColumn.undecided && lastColumn.type !== column.type
      ? [`"${column.name}" needs ${typeName(rules, column)} instead of ${typeName(rules, lastColumn)}`]
      : []
  })
  const changeTexts = [
    ...plannedColumns.filter(({ name }) => !lastColumns.has(name)).map(({ name }) => `"${name}" is new`),
    ...(isIncrement(load)
      ? []
      : [...lastColumns.keys()].filter((name) => !plannedNames.has(name)).map((name) => `"${name}" is missing`)),
    ...retypedTexts,
  ]
  if (changeTexts.length === 0) return undefined
  return {
    code: 'SCHEMA_MISMATCH',
    reason: ['schemaChanges is FAIL', ...(retypedTexts.length > 0 ? [`column ${firstOf(retypedTexts)}`] : [])].join(
      ' and ',
    ),
    sentence: `The columns of the source changed, and schemaChanges is FAIL: ${firstOf(changeTexts)}. The old data stays. ${describeColumnLists([...lastColumns.values()], load.columns)} Correct the source.`,
    advice: retypedTexts.length > 0 ? retypedAdvice : rebuildAdvice('To take the new columns'),
  }
}

const firstOf = (changes: readonly string[]): string =>
  `${changes.slice(0, maxNamed).join(', ')}${changes.length > maxNamed ? `, and ${changes.length - maxNamed} more` : ''}`

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
  rememberedColumns: readonly PreviousSourceColumn[],
  plannedColumns: readonly PlannedColumn[],
  load: NewLoad,
): ShapeRefusal | undefined {
  const { columns, sparse = false } = load
  const lastColumnNames = rememberedColumns.filter(({ vanished }) => !vanished)
  if (lastColumnNames.length === 0 || isIncrement(load)) return undefined
  const plannedNames = new Set(plannedColumns.map(({ name }) => name))
  const commonCount = lastColumnNames.filter(({ name }) => plannedNames.has(name)).length
  const reason =
    commonCount === 0
      ? 'has no column of the last load'
      : sparse
        ? undefined
        : plannedNames.size === 1 && lastColumnNames.length > 1
          ? `has one column where the last load had ${lastColumnNames.length}`
          : commonCount * 2 < lastColumnNames.length
            ? `has only ${commonCount} of the ${lastColumnNames.length} columns of the last load`
            : undefined
  return reason === undefined
    ? undefined
    : {
        code: 'SCHEMA_MISMATCH',
        reason: `the source ${reason}`,
        sentence: `The source ${reason}, so nothing was loaded; the old data stays. ${describeColumnLists(lastColumnNames, columns)}`,
        advice: rebuildAdvice('To take the new columns'),
      }
}

/**
 * Rejects ambiguous dates (day or month first) for a column that is not text in the table. A text column stores them as
 * written.
 */
function ambiguousDates(
  rules: TypeRules,
  rememberedByName: ReadonlyMap<string, PreviousSourceColumn>,
  { columns }: NewLoad,
): ShapeRefusal | undefined {
  const column = columns.find(({ name, evidence }) => {
    const rememberedColumn = rememberedByName.get(name)
    return evidence === 'AMBIGUOUS' && rememberedColumn !== undefined && !storesText(rememberedColumn)
  })
  if (!column) return undefined
  const problem = `"${column.label}" is ${typeName(rules, rememberedByName.get(column.name)!)} in the table, and day and month of its new values are ambiguous`
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

const maxNamed = 20

type NamedItem = readonly { name: string }[]

const describeColumnLists = (lastColumns: NamedItem, currentColumns: NamedItem): string =>
  `Columns of the last load: ${formatColumnNames(lastColumns)}. Columns of the source now: ${formatColumnNames(currentColumns)}.`

function formatColumnNames(columns: NamedItem): string {
  const listedNames = columns.slice(0, maxNamed).map(({ name }) => `"${name}"`)
  return columns.length > maxNamed
    ? `${listedNames.join(', ')} and ${columns.length - maxNamed} more`
    : listedNames.join(', ') || 'none'
}

export function widestText(one: DataType, other: DataType): DataType {
  if (one === other) return one
  const sizes: Partial<Record<DataType, number>> = { VARCHAR_50: 50, VARCHAR_255: 255 }
  const [a, b] = [sizes[one], sizes[other]]
  return a === undefined || b === undefined ? 'TEXT' : a > b ? one : other
}
