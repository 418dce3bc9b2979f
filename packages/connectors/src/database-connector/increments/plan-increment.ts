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

/** The settings of incremental reads, with the cursor that the last read stored. */
export interface IncrementRequest extends IncrementSettings {
  /** The position at which the increment starts. Absent for a full read. */
  last?: StoredCursor
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
 * Sets the key of the columns and plans which rows are read. Throws `SourceProblem` for settings that do not match the
 * columns.
 */
export async function planIncrement(
  source: CursorSource,
  columns: Column[],
  request: IncrementRequest,
): Promise<IncrementPlan> {
  assertDistinctNames(columns)
  const keyIndexes = request.key.map((name) => findColumn(columns, name, 'key'))
  assertDistinctKey(columns, keyIndexes, request.key)
  for (const [index, column] of columns.entries()) {
    if (keyIndexes.includes(index)) column.primaryKey = true
    else delete column.primaryKey
  }
  const cursorIndex = findColumn(columns, request.cursorColumn, 'cursorColumn')
  const kind = getCursorKind(columns[cursorIndex]!)
  const deletedIndex =
    request.deletedColumn === undefined ? undefined : findColumn(columns, request.deletedColumn, 'deletedColumn')
  if (deletedIndex !== undefined) assertDeletedType(columns[deletedIndex]!)
  const notDeleted =
    deletedIndex === undefined ? {} : { notDeleted: { index: deletedIndex, ...pickType(columns[deletedIndex]!) } }
  if (!request.storesCursor) return { filter: notDeleted }

  const digest = createDigest(
    columns.map(({ label, dataType, precision, scale }) => [label, dataType, precision, scale]),
  )
  const cursorPlace: CursorPlace = { source, index: cursorIndex, kind, label: columns[cursorIndex]!.label }
  // The clock is read before the rows, because the stored cursor must not be later than the start of the read.
  const clock = readCursorClock(kind, await source.readClock())
  if (kind !== 'NUMBER' && clock === undefined)
    throw new Error('Internal error: the clock of the database is unreadable.')
  const createCursor = (value: string | undefined) => ({
    cursor: { kind, ...(value !== undefined && { value }), columns: digest },
  })
  const increment = request.last && (await findIncrement(cursorPlace, request.last, request.lookback ?? 0, digest))
  if (increment && 'filter' in increment) {
    const value = increment.largest === undefined ? undefined : limitToClock(cursorPlace, increment.largest, clock)
    const deletedColumn = deletedIndex === undefined ? {} : { deletedColumn: columns[deletedIndex]!.name }
    const note = describeIncrement(cursorPlace, increment.filter, columns[deletedIndex ?? -1]?.label)
    return { filter: increment.filter, ...createCursor(value), ...deletedColumn, note }
  }
  const largestValue = await readLargest(cursorPlace, {})
  const value = largestValue === undefined ? undefined : limitToClock(cursorPlace, largestValue, clock)
  return { filter: notDeleted, ...createCursor(value), ...increment }
}

interface CursorPlace {
  source: CursorSource
  index: number
  kind: CursorKind
  label: string
}

/**
 * Returns the filter for the rows of an increment and their largest cursor value, or the reason why everything must be
 * read.
 */
async function findIncrement(
  cursorPlace: CursorPlace,
  lastCursor: StoredCursor,
  lookback: number,
  digest: string,
): Promise<{ filter: RowFilter; largest?: string | undefined } | { fullRead: string }> {
  const { kind, index, label } = cursorPlace
  if (lastCursor.columns !== digest || lastCursor.kind !== kind)
    return { fullRead: 'All rows are read, because the columns of the source changed since the last load.' }
  if (lastCursor.value === undefined) return { filter: {}, largest: await readLargest(cursorPlace, {}) }
  const lowerBound = subtractLookback(kind, lastCursor.value, lookback)
  const filter: RowFilter = lowerBound === undefined ? {} : { cursor: { index, kind, from: lowerBound } }
  const largestValue = await readLargest(cursorPlace, filter)
  if (
    largestValue !== undefined &&
    (largestValue === 'FUTURE' || compareCursorValues(kind, largestValue, lastCursor.value) >= 0)
  )
    return { filter, largest: largestValue }
  return {
    fullRead: `All rows are read, because no row has a "${label}" of ${formatValue(lastCursor.value)} or later, although an earlier load found one: rows were deleted or restored.`,
  }
}

async function readLargest(
  { source, index, kind, label }: CursorPlace,
  filter: RowFilter,
): Promise<string | undefined> {
  const text = await source.findLargest(index, filter)
  if (text === null) return undefined
  const value = parseCursorValue(kind, text)
  if (value !== undefined) return value
  throw unsuitable(
    `The largest value of the cursor column "${label}" is ${text.slice(0, 100)}, so an increment could not continue after it. Correct the value in the source, or exclude it in a query.`,
  )
}

/**
 * Limits the next cursor to the current time. Rows with a cursor value in the future are then read by every increment
 * until that time has passed.
 */
function limitToClock({ kind }: CursorPlace, largestValue: string, clock: string | undefined): string {
  if (clock === undefined) return largestValue
  return largestValue === 'FUTURE' || compareCursorValues(kind, largestValue, clock) > 0 ? clock : largestValue
}

function describeIncrement({ label }: CursorPlace, { cursor }: RowFilter, deletedColumn: string | undefined): string {
  const rows = cursor
    ? `Rows with a "${label}" of ${formatValue(cursor.from)} or later, or without one, are read.`
    : 'All rows are read.'
  const deletes = deletedColumn === undefined ? 'were deleted' : `were deleted and not marked in "${deletedColumn}"`
  return `${rows} Rows that ${deletes} in the source stay until the next full run.`
}

const formatValue = (value: string): string => value.replace(/\.0+$/, '')

/** Returns the index of a column by its name. A name in another case matches if only one column does. */
function findColumn(columns: readonly Column[], name: string, setting: string): number {
  const exactIndex = columns.findIndex(({ label }) => label === name)
  if (exactIndex >= 0) return exactIndex
  const matchingIndexes = columns.flatMap(({ label }, index) =>
    label.toLowerCase() === name.toLowerCase() ? [index] : [],
  )
  if (matchingIndexes.length === 1) return matchingIndexes[0]!
  const problem =
    matchingIndexes.length === 0 ? 'is not a column of the source' : 'matches several columns of the source'
  const offered = (matchingIndexes.length === 0 ? columns : matchingIndexes.map((index) => columns[index]!)).map(
    ({ label }) => label,
  )
  throw missing(`"${name}" (incremental.${setting}) ${problem}. Choose one of ${listNames(offered)}.`)
}

const maxNames = 30

const listNames = (labels: readonly string[]): string =>
  `${labels
    .slice(0, maxNames)
    .map((label) => `"${label.slice(0, 100)}"`)
    .join(', ')}${labels.length > maxNames ? ', …' : ''}`

/** Throws if two columns have the same name, because some databases reject such a query as a subquery. */
function assertDistinctNames(columns: readonly Column[]): void {
  const labels = columns.map(({ label }) => label)
  const repeatedLabel = labels.find((label, index) => labels.indexOf(label) !== index)
  if (repeatedLabel !== undefined)
    throw missing(
      `Two columns of the query are named "${repeatedLabel}". Incremental loads need distinct names: rename one.`,
    )
}

function assertDistinctKey(columns: readonly Column[], key: readonly number[], names: readonly string[]): void {
  const repeatedIndex = key.findIndex((column, index) => key.indexOf(column) !== index)
  if (repeatedIndex < 0) return
  const { label } = columns[key[repeatedIndex]!]!
  throw missing(`"${names[repeatedIndex]!}" names column "${label}" of incremental.key again. List each column once.`)
}

function getCursorKind({ label, dataType }: Column): CursorKind {
  const kind = findCursorKind(dataType)
  if (kind) return kind
  throw unsuitable(
    `The cursor column "${label}" is ${dataType}. Its values cannot be compared exactly. Choose a column with dates, timestamps, integers or decimals, or convert it in a query.`,
  )
}

const deletedTypes = /^(BOOLEAN|SMALLINT|INTEGER|BIGINT|DECIMAL|DATE|TIMESTAMP|TIMESTAMPTZ)$/

function assertDeletedType({ label, dataType }: Column): void {
  if (deletedTypes.test(dataType)) return
  throw unsuitable(
    `The column "${label}" (incremental.deletedColumn) is ${dataType}. Choose a column with true and false, 0 and 1, or the time of the deletion, or convert it in a query.`,
  )
}

const pickType = ({ dataType }: Column) => ({ dataType })
const missing = (message: string) => new SourceProblem('INCREMENTAL_COLUMN_MISSING', message)
const unsuitable = (message: string) => new SourceProblem('INCREMENTAL_COLUMN_UNSUITABLE', message)
