import type { DataType, SchemaChanges } from '@sluice/contracts'
import type { Column, StoredType, TableChange } from '../load-target.ts'
import { type ReaderAdvice, type TypeEvidence, rebuildAdvice } from '@sluice/row-stream'
import {
  type FeedMemory,
  type PreviousSourceColumn,
  type StoredAs,
  hadValues,
  hasNoValueYet,
  printedFormAfterLoad,
} from './previous-source-columns.ts'

/** The type rules of a warehouse: how each data type is stored, and which type stores the values of two types. */
export interface TypeRules {
  storedAs(type: StoredType): StoredAs
  widest(one: StoredAs, other: StoredAs): StoredAs
}

export interface FedColumn extends Column {
  evidence?: TypeEvidence
  dayFirst?: boolean
  /** The form in which the source prints all values. Absent if they have several forms. */
  printedForm?: string
}

export interface NewFeed {
  columns: readonly FedColumn[]
  /** True if the source omits a column when no record has a value for it. */
  sparse?: boolean
  definition?: string
  /** The number of source rows before transformations. Absent until all rows are read. */
  rows?: number
  /** True if existing rows stay in the table. */
  merging?: boolean
  /**
   * True if the feed (the rows of one table from the source) has all columns of the source although existing rows stay.
   */
  hasAllColumns?: boolean
}

/** True if the feed contains only changes of the source. Columns without a change can then be absent. */
const isIncrement = ({ merging = false, hasAllColumns = false }: NewFeed): boolean => merging && !hasAllColumns

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
  /** The changes between the last feed and this one. `planTable` returns the changes of the table. */
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
 * Plans the columns of a table from its last feed, the new feed and the policy for column changes. A feed is one
 * stream of source rows for a table. Every warehouse calls this function when it creates a staging table and again when
 * it
 * publishes the rows. `final` means that all rows were read, so a type that is still undecided stays undecided. Returns
 * a refusal instead if the policy FAIL forbids a change, the feed probably is another or a damaged file, or dates are
 * ambiguous.
 */
export function planShape(
  rules: TypeRules,
  lastFeed: FeedMemory | undefined,
  feed: NewFeed,
  policy: ShapePolicy,
  { final = false } = {},
): ShapePlan | ShapeRefusal {
  const rebuildReason = feed.merging ? undefined : whyFresh(lastFeed, feed, policy)
  const rememberedColumns = lastFeed?.columns ?? []
  const rememberedByName = new Map(
    (rebuildReason === 'REBUILD' ? [] : rememberedColumns).map((column) => [column.name, column]),
  )
  const plannedColumns = feed.columns.map((column) =>
    planColumn(rules, rememberedByName.get(column.name), column, feed, rebuildReason),
  )
  if (lastFeed && rebuildReason !== 'REBUILD') {
    const refusal =
      refusedChange(rememberedColumns, plannedColumns, feed, policy) ??
      (rebuildReason
        ? undefined
        : (refuseDifferentFeed(rememberedColumns, plannedColumns, feed) ??
          refuseLostLineEnds(rememberedColumns, feed))) ??
      (final ? ambiguousDates(rememberedByName, feed) : undefined)
    if (refusal) return refusal
  }
  const ignoresNewColumns = policy.schemaChanges === 'IGNORE_NEW' && !rebuildReason && rememberedColumns.length > 0
  const columns = plannedColumns.map((column): PlannedColumn => {
    const isNew = !rememberedByName.has(column.name) && !column.primaryKey
    return ignoresNewColumns && isNew ? { ...column, ignored: true } : column
  })
  const plannedNames = new Set(plannedColumns.map(({ name }) => name))
  const keptColumns = rebuildReason ? [] : rememberedColumns.filter(({ name }) => !plannedNames.has(name))
  const vanishingColumns = isIncrement(feed) ? [] : keptColumns.filter(({ vanished }) => !vanished)
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
          ...(!feed.sparse && { warning: true }),
        }),
      ),
      ...emptiedColumns(rememberedByName, feed, rebuildReason),
    ],
    memory: [
      ...columns.filter(({ ignored }) => !ignored).map(toRememberedColumn),
      ...keptColumns.map((column) => (isIncrement(feed) ? column : vanishedColumn(column, feed))),
    ],
  }
}

/**
 * Reports each column that had values in the last load and has none in this load. Only for loads that replace all rows.
 */
function emptiedColumns(
  rememberedByName: ReadonlyMap<string, PreviousSourceColumn>,
  { columns, rows = 0, merging = false }: NewFeed,
  rebuildReason: ShapePlan['rebuildReason'],
): TableChange[] {
  if (rows === 0 || merging || rebuildReason === 'DEFINITION') return []
  return columns.flatMap(({ name, evidence }): TableChange[] => {
    const rememberedColumn = rememberedByName.get(name)
    return evidence === 'NOTHING' && rememberedColumn && hadValues(rememberedColumn)
      ? [{ kind: 'COLUMN_EMPTIED', column: name, rows }]
      : []
  })
}

/** Returns a column that the feed does not have. Its values stay if the load keeps rows. */
function vanishedColumn(column: PreviousSourceColumn, { merging = false }: NewFeed): PreviousSourceColumn {
  if (merging) return { ...column, vanished: true }
  const { printedForm: _, ...rest } = column
  return { ...rest, ...(rest.undecided !== 'NOTHING' && { empty: true }), vanished: true }
}

/** Returns whether the column has no value in the table after this load. */
function isEmpty(
  before: PreviousSourceColumn | undefined,
  { evidence }: FedColumn,
  { rows, merging = false }: NewFeed,
): boolean {
  if (evidence !== 'NOTHING' && rows !== 0) return false
  return !merging || before === undefined || hasNoValueYet(before)
}

function toRememberedColumn({
  name,
  label,
  type,
  dataType,
  undecided,
  empty,
  dayFirst,
  printedForm,
}: PlannedColumn): PreviousSourceColumn {
  return {
    name,
    label,
    type,
    dataType,
    ...(undecided && { undecided }),
    ...(empty && undecided !== 'NOTHING' && { empty }),
    ...(dayFirst !== undefined && { dayFirst }),
    ...(printedForm !== undefined && { printedForm }),
  }
}

function whyFresh(last: FeedMemory | undefined, feed: NewFeed, policy: ShapePolicy): ShapePlan['rebuildReason'] {
  if (policy.rebuild) return 'REBUILD'
  if (!last) return undefined
  if (policy.schemaChanges === 'REPLACE') return 'POLICY'
  const isRedefined = last.definition !== undefined && feed.definition !== undefined
  return isRedefined && last.definition !== feed.definition ? 'DEFINITION' : undefined
}

/** Returns a column with its type and its printed form in the table after the load. */
function planColumn(
  rules: TypeRules,
  rememberedColumn: PreviousSourceColumn | undefined,
  column: FedColumn,
  feed: NewFeed,
  rebuildReason: ShapePlan['rebuildReason'],
): PlannedColumn {
  const typedColumn = planType(rules, rememberedColumn, column, feed, rebuildReason)
  const { merging = false, rows } = feed
  const printedForm = printedFormAfterLoad(typedColumn.dataType, column, { before: rememberedColumn, merging, rows })
  return { ...typedColumn, ...(printedForm !== undefined && { printedForm }) }
}

/**
 * Returns a column with the type that fits the new feed and, unless the table is built afresh, the column of the last
 * feed.
 */
function planType(
  rules: TypeRules,
  rememberedColumn: PreviousSourceColumn | undefined,
  column: FedColumn,
  feed: NewFeed,
  rebuildReason: ShapePlan['rebuildReason'],
): PlannedColumn {
  const { merging = false } = feed
  const { name, label, evidence, primaryKey = false } = column
  const dayFirst = column.dayFirst ?? rememberedColumn?.dayFirst
  const commonFields = {
    name,
    label,
    primaryKey,
    ...(isEmpty(rememberedColumn, column, feed) && { empty: true as const }),
    ...(dayFirst !== undefined && { dayFirst }),
  }
  const feedType = rules.storedAs(column)
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
  if (!rememberedColumn || (evidence === 'REQUESTED' && !merging)) return { ...commonFields, ...feedType }
  // Rows that stay may contain texts with day and month in either order, so the column stays text.
  if (rememberedColumn.undecided === 'AMBIGUOUS' && merging)
    return { ...commonFields, ...rules.widest(rememberedColumn, feedType), undecided: rememberedColumn.undecided }
  if (rememberedColumn.undecided || rebuildReason) return { ...commonFields, ...feedType }
  return { ...commonFields, ...rules.widest(rememberedColumn, feedType) }
}

/**
 * Rejects a header without rows that looks like a file with lost line ends. Such a file is a single line, so its values
 * appear as further column names after those of the last load. With at least one row of values, at least half of the
 * names are new. As a further sign, a new name with digits and without letters is probably a value.
 */
function refuseLostLineEnds(
  rememberedColumns: readonly PreviousSourceColumn[],
  feed: NewFeed,
): ShapeRefusal | undefined {
  const { columns, rows, sparse } = feed
  const lastFedColumns = rememberedColumns.filter(({ vanished }) => !vanished)
  if (lastFedColumns.length === 0 || rows !== 0 || sparse || isIncrement(feed)) return undefined
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
        sentence: `The source has no rows and ${reason}, so nothing was loaded; the old data stays. ${correction} ${describeColumnLists(lastFedColumns, columns)}`,
        advice: rebuildAdvice('To take the new columns'),
      }
}

/**
 * Rejects changes under the policy FAIL: added columns, changes of a decided type and, unless the feed is an increment,
 * removed columns.
 */
function refusedChange(
  rememberedColumns: readonly PreviousSourceColumn[],
  plannedColumns: readonly PlannedColumn[],
  feed: NewFeed,
  { schemaChanges }: ShapePolicy,
): ShapeRefusal | undefined {
  if (schemaChanges !== 'FAIL') return undefined
  const lastFedColumns = new Map(
    rememberedColumns.filter(({ vanished }) => !vanished).map((column) => [column.name, column]),
  )
  if (lastFedColumns.size === 0) return undefined
  const plannedNames = new Set(plannedColumns.map(({ name }) => name))
  const retypedTexts = plannedColumns.flatMap(({ name, type }) => {
    const lastFedColumn = lastFedColumns.get(name)
    return lastFedColumn && !lastFedColumn.undecided && lastFedColumn.type !== type
      ? [`"${name}" needs ${type} instead of ${lastFedColumn.type}`]
      : []
  })
  const changeTexts = [
    ...plannedColumns.filter(({ name }) => !lastFedColumns.has(name)).map(({ name }) => `"${name}" is new`),
    ...(isIncrement(feed)
      ? []
      : [...lastFedColumns.keys()].filter((name) => !plannedNames.has(name)).map((name) => `"${name}" is missing`)),
    ...retypedTexts,
  ]
  if (changeTexts.length === 0) return undefined
  return {
    code: 'SCHEMA_MISMATCH',
    reason: ['schemaChanges is FAIL', ...(retypedTexts.length > 0 ? [`column ${firstOf(retypedTexts)}`] : [])].join(
      ' and ',
    ),
    sentence: `The columns of the source changed, and schemaChanges is FAIL: ${firstOf(changeTexts)}. The old data stays. ${describeColumnLists([...lastFedColumns.values()], feed.columns)} Correct the source.`,
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
 * Rejects a feed that has none of the last feed's columns, fewer than half of them, or a single column instead of
 * several. It is probably a wrong file, or an error page instead of data. A sparse feed is rejected only if it has
 * none of them. Does not check increments.
 */
function refuseDifferentFeed(
  rememberedColumns: readonly PreviousSourceColumn[],
  plannedColumns: readonly PlannedColumn[],
  feed: NewFeed,
): ShapeRefusal | undefined {
  const { columns, sparse = false } = feed
  const lastFedColumns = rememberedColumns.filter(({ vanished }) => !vanished)
  if (lastFedColumns.length === 0 || isIncrement(feed)) return undefined
  const plannedNames = new Set(plannedColumns.map(({ name }) => name))
  const commonCount = lastFedColumns.filter(({ name }) => plannedNames.has(name)).length
  const reason =
    commonCount === 0
      ? 'has no column of the last load'
      : sparse
        ? undefined
        : plannedNames.size === 1 && lastFedColumns.length > 1
          ? `has one column where the last load had ${lastFedColumns.length}`
          : commonCount * 2 < lastFedColumns.length
            ? `has only ${commonCount} of the ${lastFedColumns.length} columns of the last load`
            : undefined
  return reason === undefined
    ? undefined
    : {
        code: 'SCHEMA_MISMATCH',
        reason: `the source ${reason}`,
        sentence: `The source ${reason}, so nothing was loaded; the old data stays. ${describeColumnLists(lastFedColumns, columns)}`,
        advice: rebuildAdvice('To take the new columns'),
      }
}

/**
 * Rejects ambiguous dates (day or month first) for a column that is not text in the table. A text column stores them as
 * written.
 */
function ambiguousDates(
  rememberedByName: ReadonlyMap<string, PreviousSourceColumn>,
  { columns }: NewFeed,
): ShapeRefusal | undefined {
  const column = columns.find(({ name, evidence }) => {
    const rememberedColumn = rememberedByName.get(name)
    return evidence === 'AMBIGUOUS' && rememberedColumn !== undefined && !storesText(rememberedColumn)
  })
  if (!column) return undefined
  const problem = `"${column.label}" is ${rememberedByName.get(column.name)!.type} in the table, and day and month of its new values are ambiguous`
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
