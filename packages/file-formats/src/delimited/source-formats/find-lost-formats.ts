import { createValuePrinter } from '../../export/values-in-source-format.ts'
import { type PreviewCell, readTuples } from '../../cells/read-tuples.ts'
import type { ColumnType } from '../dialect/column-type.ts'
import type { PreviousDialect } from '../dialect/delimited-options.ts'
import { earlierFormatsOf } from '../dialect/detect-dialect.ts'
import type { DelimitedDialect } from '../dialect/dialect.ts'
import type { DelimitedLimits } from '../limits.ts'
import { openRows } from '../open-delimited-rows.ts'
import { readRecords } from '../values-of-unexpected-type.ts'
import { fieldText } from '../rejected-row.ts'
import { SampleEncoder } from '../sample-encoder.ts'
import type { TextPart } from '../similar-texts/text-part.ts'
import type { TextSource } from '../text-file.ts'
import type { WasmScanner } from '../wasm-scanner.ts'

/** A column whose values all had one source format in earlier loads, and no longer have it. */
export interface LostFormat {
  label: string
  /** The format of the earlier loads. */
  format: string
  /** The format of all values of this file, if they have one. */
  formatNow?: string
  /** The first value that is printed otherwise. Absent if none was found. */
  otherValue?: OtherValue
}

interface OtherValue {
  /** The value as the file prints it, truncated to 100 characters. */
  text: string
  /** The physical line number of the record's start, from 1. */
  line: number
  /** The name of the part of the file that contains the line. */
  part?: string
}

/** The search stops after this many bytes. */
const maxSearchedBytes = 64 * 1024 * 1024
const maxShownLength = 100

/** The format of integers as they are stored. If decimals follow, the change of the type is reported. */
const plainIntegers = '0'

/**
 * Finds the columns whose format of earlier loads does not apply to the table any more, each with the first value that
 * is printed otherwise. Call it after the rows were read, because it resets the scanner's state.
 */
export function findLostFormats(
  wasm: WasmScanner,
  file: TextSource,
  dialect: DelimitedDialect,
  limits: DelimitedLimits,
  columns: readonly ColumnType[],
  { parts, sourceFormats }: { parts: readonly TextPart[]; sourceFormats: readonly (string | undefined)[] },
): LostFormat[] {
  const { earlierFormats, keepsEarlierRows = false, labels } = dialect
  const lostColumns = columns.flatMap(({ dataType, evidence }, column) => {
    const format = earlierFormats?.[column]
    const formatNow = sourceFormats[column]
    if (format === undefined || format === formatNow || dataType === 'TEXT' || evidence === 'NOTHING') return []
    if (format === plainIntegers && dataType !== 'SMALLINT' && dataType !== 'INTEGER' && dataType !== 'BIGINT')
      return []
    // A file that replaces the table decides its formats anew.
    if (formatNow !== undefined && !keepsEarlierRows) return []
    return [{ column, format, formatNow, print: createValuePrinter(format) }]
  })
  if (lostColumns.length === 0) return []
  const otherValues = new Map<number, OtherValue>()
  let columnsWithoutOtherValue = lostColumns
  const encoder = new SampleEncoder(wasm, dialect, columns)
  for (const { records, part } of readRecords(parts, maxSearchedBytes, (part) =>
    openRows(file, { ...dialect, ...part }, limits, wasm.window),
  )) {
    if (records.fault !== undefined) continue
    const encoded = encoder.encode(records)
    if (typeof encoded === 'string' || !('tuple' in encoded)) continue
    const [cells] = readTuples(encoded.tuple, columns, 1, Infinity).rows
    columnsWithoutOtherValue = columnsWithoutOtherValue.filter(({ column, format, print }) => {
      const cell = cells![column]!
      const text = fieldText(records, column)
      const isInFormat = cell === null || (print(cellText(cell)) === text && !hasMoreDigits(text, format))
      if (isInFormat) return true
      const { name } = part
      const position = { line: records.line, ...(name !== undefined && { part: name }) }
      otherValues.set(column, { text: text.slice(0, maxShownLength), ...position })
      return false
    })
    if (columnsWithoutOtherValue.length === 0) break
  }
  return lostColumns.map(({ column, format, formatNow }) => {
    const otherValue = otherValues.get(column)
    return {
      label: labels[column]!,
      format,
      ...(formatNow !== undefined && { formatNow }),
      ...(otherValue && { otherValue }),
    }
  })
}

/**
 * True if a value has more digits than its format says, as 1.234 in the format `0.00`. The value printer then prints
 * all digits, so comparing the printed value with the text does not reveal the difference.
 */
function hasMoreDigits(text: string, format: string): boolean {
  const isTimeFormat = /^[DMY]/.test(format)
  if (isTimeFormat) return !format.includes('#') && text.length > format.length
  const [, fraction] = /[.,](0+)$/.exec(format) ?? []
  return fraction !== undefined && /\d*$/.exec(text)![0].length > fraction.length
}

const cellText = (cell: PreviewCell): string => (typeof cell === 'string' ? cell : JSON.stringify(cell))

/** Returns a sentence for users that says why a column lost its source format. */
export const describeLostFormat = ({ label, format, formatNow, otherValue }: LostFormat): string =>
  `Column "${label}" no longer has the source format ${format} of earlier loads, because ${describeReason(formatNow, otherValue)}.`

function describeReason(formatNow: string | undefined, otherValue: OtherValue | undefined): string {
  if (otherValue) {
    const { text, line, part } = otherValue
    return `of "${text}" in line ${line}${part === undefined ? '' : ` of ${part}`}`
  }
  return formatNow === undefined ? 'the new values have several formats' : `the new values have the format ${formatNow}`
}

/**
 * Returns a sentence for users about columns that had a source format in earlier texts, and were now loaded from a
 * workbook or JSON. Returns undefined without such columns.
 */
export function describeFormatsOfTexts(
  columns: readonly (ColumnType & { label: string })[],
  earlierTextDialect: PreviousDialect,
): string | undefined {
  const earlierFormats = earlierFormatsOf(
    columns.map(({ label }) => label),
    earlierTextDialect,
  )
  const lost = columns.flatMap(({ label, dataType, evidence }, index) => {
    const format = earlierFormats[index]
    const isLost = format !== undefined && format !== plainIntegers && dataType !== 'TEXT' && evidence !== 'NOTHING'
    return isLost ? [`"${label}" (${format})`] : []
  })
  if (lost.length === 0) return undefined
  const [subject, verb] = lost.length === 1 ? ['Column', 'has'] : ['Columns', 'have']
  return `${subject} ${lost.join(', ')} no longer ${verb} the source format of earlier loads, because workbooks and JSON have none.`
}
