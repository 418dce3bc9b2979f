import { formatCount } from '@sluice/row-stream'
import { configureScanner, typesFromOptions, ObservedColumn } from './column-state.ts'
import type { ColumnType } from './dialect/column-type.ts'
import type { DelimitedDialect } from './dialect/dialect.ts'
import { fieldText } from './rejected-row.ts'
import { passFieldPositions } from './field-positions.ts'
import type { DelimitedLimits } from './limits.ts'
import { OBSERVE, RECORD_PROCESSED, type WasmScanner } from './wasm-scanner.ts'
import type { RecordReader } from './record-reader.ts'
import { openRows, type RowInput } from './open-delimited-rows.ts'
import type { TextPart } from './similar-texts/text-part.ts'
import type { TextSource } from './text-file.ts'

/** Why a column is TEXT although nearly all of its values have a narrower type. */
export interface OddValue {
  /** The index of the column. */
  column: number
  label: string
  /** The type of the other values. */
  family: TypeFamily
  /** The first value that does not have this type, truncated to 100 characters. */
  value: string
  /** The physical line number of the record's start, from 1. */
  line: number
  /** The name of the part of the file that contains the line. */
  part?: string
}

/**
 * The first 1,000 records determine whether a column is nearly of one type: it needs at least `minValueCount` values
 * there, and `minShare` of them, or all but one, must have the type.
 */
const decisiveRecords = 1_000
const minValueCount = 4
const minShare = 0.9
/** The search for odd values stops after this many bytes, unless the caller sets another limit. */
const defaultMaxBytes = 64 * 1024 * 1024
const maxValueLength = 100

/** DECIMAL_COMMA has numbers such as `1,50` in a file whose decimal sign is the point. */
const typeFamilies = ['BOOLEAN', 'DECIMAL', 'DECIMAL_COMMA', 'DATE', 'TIMESTAMP'] as const
type TypeFamily = (typeof typeFamilies)[number]

/** A mask of all date formats. */
const allDateFormats = 0xff

/** Bits of kinds of values, as in assembly/column-state.ts. */
const BOOLEAN_KIND = 0x01
const INTEGER_KIND = 0x02
const NUMBER_KINDS = 0x0e
const DATE_KIND = 0x10
const TIMESTAMP_KINDS = 0x60

interface WatchedColumn {
  /** The index of the column. */
  column: number
  /** The scanner's observations of the column in the current record. */
  observed: ObservedColumn
  /** The number of values until now, and how many of them are in each type family. */
  valueCount: number
  counts: Record<TypeFamily, number>
  /** The first value outside each type family. */
  firstOutside: Partial<Record<TypeFamily, Pick<OddValue, 'value' | 'line' | 'part'>>>
  /** A mask of the date formats that fit all dates until now. */
  dateFormats: number
  /**
   * True if an odd value looks like a code (`007`, `1E30`). A column of codes is meant to be text, so it is not
   * reported.
   */
  hasCodes: boolean
}

/**
 * Finds columns that are TEXT because of a few odd values, with the first such value of each column. Does not report a
 * column whose type the options set, or whose odd values look like codes. Call it after the rows were read, because it
 * resets the scanner's state.
 */
export function findOddValues(
  wasm: WasmScanner,
  file: TextSource,
  dialect: DelimitedDialect,
  limits: DelimitedLimits,
  columns: readonly ColumnType[],
  { parts, maxBytes = defaultMaxBytes }: { parts: readonly TextPart[]; maxBytes?: number },
): OddValue[] {
  const declaredTypes = typesFromOptions(dialect)
  const textColumns = columns.flatMap(({ dataType, evidence }, column) =>
    dataType === 'TEXT' && !evidence && !declaredTypes[column] ? [watchColumn(wasm, column)] : [],
  )
  if (textColumns.length === 0) return []
  configureScanner(wasm, dialect, limits.chunkBytes)
  const openPart = (part: TextPart) => openRows(file, { ...dialect, ...part }, limits, wasm.window)
  const records = readRecords(parts, maxBytes, openPart)
  const nearlyTypedColumns = watchRecords(wasm, textColumns, records)
  return nearlyTypedColumns.flatMap((watchedColumn) => {
    const family = mainFamily(watchedColumn)
    const firstOddValue = family && watchedColumn.firstOutside[family]
    if (!firstOddValue || watchedColumn.hasCodes) return []
    const { column } = watchedColumn
    return [{ column, label: dialect.labels[column]!, family, ...firstOddValue }]
  })
}

/**
 * Observes the values of the watched columns. After the first 1,000 records, continues only with the columns that are
 * nearly of one type, until each of them has an odd value. Returns these columns.
 */
function watchRecords(
  wasm: WasmScanner,
  watchedColumns: WatchedColumn[],
  records: Iterable<{ records: RecordReader; part: TextPart }>,
): WatchedColumn[] {
  let remainingColumns = watchedColumns
  let recordCount = 0
  for (const { records: reader, part } of records) {
    recordCount++
    const isReadable = reader.fault === undefined
    if (isReadable) observeRecord(wasm, remainingColumns, reader, part)
    if (recordCount < decisiveRecords) continue
    if (recordCount === decisiveRecords)
      remainingColumns = remainingColumns.filter((column) => mainFamily(column) !== undefined)
    if (remainingColumns.every(isDecided)) break
  }
  return remainingColumns
}

/** Observes the values of the current record in the watched columns, unless its row would be rejected. */
function observeRecord(
  wasm: WasmScanner,
  watchedColumns: readonly WatchedColumn[],
  records: RecordReader,
  part: TextPart,
): void {
  for (const { observed } of watchedColumns) observed.reset()
  const originalRecord = passFieldPositions(wasm, records)
  const outcome = wasm.run.processRecord(records.next - records.from, OBSERVE)
  if (originalRecord) records.bytes.set(originalRecord, records.from)
  if (outcome !== RECORD_PROCESSED) return
  for (const watchedColumn of watchedColumns) countValue(watchedColumn, records, part)
}

/** Yields each record of the parts, until more than `maxBytes` bytes were read in total. */
export function* readRecords(
  parts: readonly TextPart[],
  maxBytes: number,
  openPart: (part: TextPart) => RowInput,
): Generator<{ records: RecordReader; part: TextPart }, void, void> {
  let bytesBefore = 0
  for (const part of parts) {
    const { records, reader } = openPart(part)
    while (records.advance()) {
      yield { records, part }
      if (bytesBefore + reader.position - part.from > maxBytes) return
    }
    bytesBefore += part.end - part.from
  }
}

const familyNames: Record<TypeFamily, string> = {
  BOOLEAN: 'true or false',
  DECIMAL: 'numbers',
  DECIMAL_COMMA: 'numbers with a decimal comma',
  DATE: 'dates',
  TIMESTAMP: 'dates with a time',
}

/** Returns a sentence for users about the value that made a column TEXT. */
export const describeOddValue = ({ label, family, value, line, part }: OddValue): string =>
  `Column "${label}" is TEXT because of "${value}" in line ${line}${part === undefined ? '' : ` of ${part}`}; most of its values are ${familyNames[family]}.`

const maxDescribed = 20

/** Returns a sentence for each of the first 20 values. */
export function describeOddValues(oddValues: readonly OddValue[]): string[] {
  const sentences = oddValues.slice(0, maxDescribed).map(describeOddValue)
  const more = oddValues.length - maxDescribed
  return more > 0
    ? [...sentences, `${formatCount(more, 'more column')} of text ${more === 1 ? 'has' : 'have'} such values.`]
    : sentences
}

const watchColumn = (wasm: WasmScanner, column: number): WatchedColumn => ({
  column,
  observed: new ObservedColumn(wasm, column),
  valueCount: 0,
  counts: { BOOLEAN: 0, DECIMAL: 0, DECIMAL_COMMA: 0, DATE: 0, TIMESTAMP: 0 },
  firstOutside: {},
  dateFormats: allDateFormats,
  hasCodes: false,
})

/**
 * Counts the column's value in the current record by type family. Also stores it as the first value outside each other
 * family, if that has none yet. Ignores a null. An integer also belongs to DECIMAL_COMMA.
 */
function countValue(watchedColumn: WatchedColumn, records: RecordReader, { name }: TextPart): void {
  const { kinds } = watchedColumn.observed
  const isNull = kinds === 0
  if (isNull) return
  watchedColumn.valueCount++
  const family = fittingFamily(watchedColumn)
  const isInteger = (kinds & ~INTEGER_KIND) === 0
  if (family) watchedColumn.counts[family]++
  if (isInteger) watchedColumn.counts.DECIMAL_COMMA++
  const isInFamily = (other: TypeFamily) => other === family || (other === 'DECIMAL_COMMA' && isInteger)
  const familiesToSet = typeFamilies.filter((other) => !isInFamily(other) && !watchedColumn.firstOutside[other])
  // Decodes the text only if it is needed: most values have a family, and each other family has an odd value already.
  if (family && familiesToSet.length === 0) return
  const text = fieldText(records, watchedColumn.column)
  const isDecimalComma = !family && /^-?\d*,\d+$/.test(text)
  if (isDecimalComma) watchedColumn.counts.DECIMAL_COMMA++
  if (!family) watchedColumn.hasCodes ||= /^(0\d+|\d+E\d+)$/i.test(text)
  for (const other of familiesToSet) {
    if (other === 'DECIMAL_COMMA' && isDecimalComma) continue
    watchedColumn.firstOutside[other] = {
      value: text.slice(0, maxValueLength),
      line: records.line,
      ...(name !== undefined && { part: name }),
    }
  }
}

/**
 * Returns the type family of the current value. A date has none if no date format fits both this date and all dates
 * before.
 */
function fittingFamily(watchedColumn: WatchedColumn): TypeFamily | undefined {
  const { kinds, dateFormats } = watchedColumn.observed
  const family = familyOf(kinds)
  if (family !== 'DATE' && family !== 'TIMESTAMP') return family
  if ((watchedColumn.dateFormats & dateFormats) === 0) return undefined
  watchedColumn.dateFormats &= dateFormats
  return family
}

/** Returns the type family of a value by the bits of its kinds, or undefined for a text. */
function familyOf(kinds: number): TypeFamily | undefined {
  if (kinds === BOOLEAN_KIND) return 'BOOLEAN'
  if ((kinds & ~NUMBER_KINDS) === 0) return 'DECIMAL'
  if (kinds === DATE_KIND) return 'DATE'
  return (kinds & ~TIMESTAMP_KINDS) === 0 ? 'TIMESTAMP' : undefined
}

/**
 * Returns the type family of nearly all values of a column: `minShare` of them, or all but one. Returns undefined if no
 * family has that many, or if the column has fewer than `minValueCount` values.
 */
function mainFamily({ valueCount, counts }: WatchedColumn): TypeFamily | undefined {
  if (valueCount < minValueCount) return undefined
  const neededCount = Math.min(valueCount * minShare, valueCount - 1)
  return typeFamilies.find((family) => counts[family] >= neededCount)
}

/** True if reading further records cannot change what is reported about a column. */
function isDecided(watchedColumn: WatchedColumn): boolean {
  const family = mainFamily(watchedColumn)
  return family === undefined || watchedColumn.firstOutside[family] !== undefined
}
