import { type Column, SourceProblem } from '@sluice/row-stream'
import {
  compareCursorValues,
  type CursorKind,
  findCursorKind,
  parseCursorValue,
  readCursorClock,
  type SourceClock,
  subtractLookback,
} from './cursor-value.ts'
import { createDigest, type IncrementSettings, type StoredCursor } from './increment-settings.ts'
import type { RowFilter } from './row-filter.ts'

/** The settings of incremental reads, with the cursor that the previous load stored. */
export interface IncrementRequest extends IncrementSettings {
  /** The position at which the increment starts. Absent for a full read. */
  previousCursor?: StoredCursor
  /** False for previews and tests. They store no rows, so the cursor column is not searched for its largest value. */
  storesCursor: boolean
}

/** The methods of a session that find the next cursor. */
export interface CursorSource {
  /** Returns the largest value of a column as text with all digits, or null if all rows have NULL there. */
  findLargest(index: number, filter: RowFilter): Promise<string | null>
  /** Returns the database's clock at a moment before the rows are read. */
  readClock(): Promise<SourceClock>
}

/** Which rows are read, and the cursor to store. Sent from the thread to the main thread. */
export interface IncrementPlan {
  filter: RowFilter
  /** The position at which the next increment starts. Absent for a preview. */
  cursor?: StoredCursor
  /** The reason why everything is read although there is a stored cursor. */
  fullRead?: string
  /** The warehouse name of the column that marks deleted rows. Set if the increment contains such rows. */
  deletedColumn?: string
  /**
   * A note for the run's log: which rows are read, and which changes the increment cannot find. Absent for a full read.
   */
  note?: string
}

/**
 * Marks the key columns as the primary key and plans which rows are read: an increment if it can continue from the
 * stored cursor, otherwise all rows. Throws `SourceProblem` for settings that do not match the columns.
 */
export async function planIncrement(
  source: CursorSource,
  columns: Column[],
  request: IncrementRequest,
): Promise<IncrementPlan> {
  assertDistinctNames(columns)
  setPrimaryKey(columns, request.key)
  const cursorColumn = findCursorColumn(source, columns, request.cursorColumn)
  const deletedIndex = findDeletedColumn(columns, request.deletedColumn)
  const fullReadFilter = createFullReadFilter(columns, deletedIndex)
  if (!request.storesCursor) return { filter: fullReadFilter }

  const columnsDigest = digestColumns(columns)
  // The clock is read before the rows, because the stored cursor must not be later than the start of the read.
  const clock = await readClock(cursorColumn)
  const createCursor = (largestValue: string | undefined): StoredCursor => ({
    kind: cursorColumn.kind,
    ...(largestValue !== undefined && { value: limitToClock(cursorColumn.kind, largestValue, clock) }),
    columns: columnsDigest,
  })

  const { previousCursor, lookback = 0 } = request
  const increment = previousCursor && (await findIncrement(cursorColumn, previousCursor, lookback, columnsDigest))
  if (!increment || 'fullRead' in increment) {
    const cursor = createCursor(await readLargestValue(cursorColumn, allRows))
    return { filter: fullReadFilter, cursor, ...increment }
  }
  const { filter, largestValue } = increment
  const deletedColumn = deletedIndex === undefined ? undefined : columns[deletedIndex]
  const note = describeIncrement(cursorColumn, filter, deletedColumn?.label)
  const cursor = createCursor(largestValue)
  return { filter, cursor, ...(deletedColumn && { deletedColumn: deletedColumn.name }), note }
}

/** Returns a digest of the names and types of the columns. */
const digestColumns = (columns: readonly Column[]): string =>
  createDigest(columns.map(({ label, dataType, precision, scale }) => [label, dataType, precision, scale]))

function findCursorColumn(source: CursorSource, columns: readonly Column[], name: string): CursorColumn {
  const index = findColumn(columns, name, 'cursorColumn')
  const column = columns[index]!
  return { source, index, kind: getCursorKind(column), label: column.label }
}

/** Returns the current time of the database as a cursor value, or undefined if the cursor is a number. */
async function readClock({ source, kind }: CursorColumn): Promise<string | undefined> {
  const clock = readCursorClock(kind, await source.readClock())
  if (kind !== 'NUMBER' && clock === undefined)
    throw new Error('Internal error: the clock of the database is unreadable.')
  return clock
}

/** Marks the columns with these names as the primary key, and no others. */
function setPrimaryKey(columns: readonly Column[], names: readonly string[]): void {
  const keyIndexes = names.map((name) => findColumn(columns, name, 'key'))
  assertDistinctKey(columns, keyIndexes, names)
  for (const [index, column] of columns.entries()) {
    if (keyIndexes.includes(index)) column.primaryKey = true
    else delete column.primaryKey
  }
}

/** Returns the index of the column that marks deleted rows, or undefined if the settings name none. */
function findDeletedColumn(columns: readonly Column[], name: string | undefined): number | undefined {
  if (name === undefined) return undefined
  const index = findColumn(columns, name, 'deletedColumn')
  assertDeletedType(columns[index]!)
  return index
}

/** Returns the filter of a full read, which leaves out rows that are marked as deleted. */
function createFullReadFilter(columns: readonly Column[], deletedIndex: number | undefined): RowFilter {
  if (deletedIndex === undefined) return {}
  return { notDeleted: { index: deletedIndex, dataType: columns[deletedIndex]!.dataType } }
}

const allRows: RowFilter = {}

interface CursorColumn {
  source: CursorSource
  index: number
  kind: CursorKind
  label: string
}

/**
 * Returns the filter for the rows since the previous cursor minus `lookback`, and their largest cursor value. Returns
 * the reason why everything must be read if the columns changed, or if the largest value is below the previous one.
 */
async function findIncrement(
  cursorColumn: CursorColumn,
  previousCursor: StoredCursor,
  lookback: number,
  columnsDigest: string,
): Promise<{ filter: RowFilter; largestValue?: string | undefined } | { fullRead: string }> {
  const { kind, index, label } = cursorColumn
  if (previousCursor.columns !== columnsDigest || previousCursor.kind !== kind)
    return { fullRead: 'All rows are read, because the columns of the source changed since the last load.' }
  const previousValue = previousCursor.value
  // No row had a cursor value in the previous load, so all rows belong to the increment.
  if (previousValue === undefined)
    return { filter: allRows, largestValue: await readLargestValue(cursorColumn, allRows) }
  const lowerBound = subtractLookback(kind, previousValue, lookback)
  const filter = lowerBound === undefined ? allRows : { cursor: { index, kind, from: lowerBound } }
  const largestValue = await readLargestValue(cursorColumn, filter)
  const reachesPreviousValue = largestValue !== undefined && isAtLeast(kind, largestValue, previousValue)
  if (reachesPreviousValue) return { filter, largestValue }
  return {
    fullRead: `All rows are read, because no row has a "${label}" of ${formatValue(previousValue)} or later, although an earlier load found one: rows were deleted or restored.`,
  }
}

const isAtLeast = (kind: CursorKind, value: string, minimum: string): boolean =>
  value === 'FUTURE' || compareCursorValues(kind, value, minimum) >= 0

/**
 * Returns the largest cursor value of the rows that match the filter, or undefined if they have no cursor value. Throws
 * `SourceProblem` if an increment could not continue from this value.
 */
async function readLargestValue(
  { source, index, kind, label }: CursorColumn,
  filter: RowFilter,
): Promise<string | undefined> {
  const text = await source.findLargest(index, filter)
  if (text === null) return undefined
  const value = parseCursorValue(kind, text)
  if (value !== undefined) return value
  throw createUnsuitableProblem(
    `The largest value of the cursor column "${label}" is ${text.slice(0, 100)}, so an increment could not continue after it. Correct the value in the source, or exclude it in a query.`,
  )
}

/**
 * Returns the largest value, or the current time if the value is in the future. Rows with a cursor value in the future
 * are then read by every increment until that time has passed. `clock` is undefined for numbers.
 */
function limitToClock(kind: CursorKind, largestValue: string, clock: string | undefined): string {
  if (clock === undefined) return largestValue
  const isInFuture = largestValue === 'FUTURE' || compareCursorValues(kind, largestValue, clock) > 0
  return isInFuture ? clock : largestValue
}

function describeIncrement({ label }: CursorColumn, { cursor }: RowFilter, deletedColumn: string | undefined): string {
  const rows = cursor
    ? `Rows with a "${label}" of ${formatValue(cursor.from)} or later, or without one, are read.`
    : 'All rows are read.'
  const deletedRows = deletedColumn === undefined ? 'were deleted' : `were deleted and not marked in "${deletedColumn}"`
  return `${rows} Rows that ${deletedRows} in the source stay until the next full run.`
}

const formatValue = (value: string): string => value.replace(/\.0+$/, '')

/**
 * Returns the index of the column with this name. Without an exact match, upper and lower case count as equal. Throws
 * `SourceProblem` if no column matches, or several columns match in that way. `setting` is the name for the message.
 */
function findColumn(columns: readonly Column[], name: string, setting: string): number {
  const exactIndex = columns.findIndex(({ label }) => label === name)
  if (exactIndex >= 0) return exactIndex
  const matchingIndexes = columns.flatMap(({ label }, index) =>
    label.toLowerCase() === name.toLowerCase() ? [index] : [],
  )
  if (matchingIndexes.length === 1) return matchingIndexes[0]!
  const isUnknown = matchingIndexes.length === 0
  const problem = isUnknown ? 'is not a column of the source' : 'matches several columns of the source'
  const choices = isUnknown ? columns : matchingIndexes.map((index) => columns[index]!)
  throw createMissingProblem(`"${name}" (incremental.${setting}) ${problem}. Choose one of ${listLabels(choices)}.`)
}

const maxListedLabels = 30

/** Returns the labels in quotes, separated by commas. */
function listLabels(columns: readonly Column[]): string {
  const quotedLabels = columns.slice(0, maxListedLabels).map(({ label }) => `"${label.slice(0, 100)}"`)
  const ellipsis = columns.length > maxListedLabels ? ', …' : ''
  return `${quotedLabels.join(', ')}${ellipsis}`
}

/** Throws if two columns have the same name, because some databases reject such a query as a subquery. */
function assertDistinctNames(columns: readonly Column[]): void {
  const labels = columns.map(({ label }) => label)
  const repeatedLabel = labels.find((label, index) => labels.indexOf(label) !== index)
  if (repeatedLabel !== undefined)
    throw createMissingProblem(
      `Two columns of the query are named "${repeatedLabel}". Incremental loads need distinct names: rename one.`,
    )
}

/** Throws if two names of the key refer to the same column, such as `id` and `ID`. */
function assertDistinctKey(columns: readonly Column[], keyIndexes: readonly number[], names: readonly string[]): void {
  const repeatedPosition = keyIndexes.findIndex((column, position) => keyIndexes.indexOf(column) !== position)
  if (repeatedPosition < 0) return
  const name = names[repeatedPosition]!
  const { label } = columns[keyIndexes[repeatedPosition]!]!
  throw createMissingProblem(`"${name}" names column "${label}" of incremental.key again. List each column once.`)
}

function getCursorKind({ label, dataType }: Column): CursorKind {
  const kind = findCursorKind(dataType)
  if (kind) return kind
  throw createUnsuitableProblem(
    `The cursor column "${label}" is ${dataType}. Its values cannot be compared exactly. Choose a column with dates, timestamps, integers or decimals, or convert it in a query.`,
  )
}

const deletedTypes = /^(BOOLEAN|SMALLINT|INTEGER|BIGINT|DECIMAL|DATE|TIMESTAMP|TIMESTAMPTZ)$/

function assertDeletedType({ label, dataType }: Column): void {
  if (deletedTypes.test(dataType)) return
  throw createUnsuitableProblem(
    `The column "${label}" (incremental.deletedColumn) is ${dataType}. Choose a column with true and false, 0 and 1, or the time of the deletion, or convert it in a query.`,
  )
}

const createMissingProblem = (message: string) => new SourceProblem('INCREMENTAL_COLUMN_MISSING', message)
const createUnsuitableProblem = (message: string) => new SourceProblem('INCREMENTAL_COLUMN_UNSUITABLE', message)
