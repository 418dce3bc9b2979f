import { createValuePrinter } from '../../export/values-in-source-format.ts'
import { type PreviewCell, readTuples } from '../../cells/read-tuples.ts'
import type { ColumnType } from '../dialect/column-type.ts'
import type { DelimitedDialect } from '../dialect/dialect.ts'
import type { DelimitedLimits } from '../limits.ts'
import { openRows } from '../open-delimited-rows.ts'
import { readRecords } from '../odd-values.ts'
import { fieldText } from '../rejected-row.ts'
import { SampleEncoder } from '../sample-encoder.ts'
import type { TextPart } from '../similar-texts/text-part.ts'
import type { TextSource } from '../text-file.ts'
import type { WasmScanner } from '../wasm-scanner.ts'

/** A column whose values all had one source format in earlier loads, and the first value of the file in another format. */
export interface LostFormat {
  label: string
  /** The format of the earlier loads. */
  format: string
  /** The value as the file prints it, truncated to 100 characters. */
  value: string
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
 * Finds values that are printed in other formats than those of earlier loads. Only for columns whose format does not apply
 * to the table any more. Call it after the rows were read, because it resets the scanner's state.
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
  let watchedColumns = columns.flatMap(({ dataType, evidence }, column) => {
    const format = earlierFormats?.[column]
    const formatNow = sourceFormats[column]
    if (format === undefined || format === formatNow || dataType === 'TEXT' || evidence === 'NOTHING') return []
    if (format === plainIntegers && dataType !== 'SMALLINT' && dataType !== 'INTEGER' && dataType !== 'BIGINT')
      return []
    // A file that replaces the table decides its formats anew.
    if (formatNow !== undefined && !keepsEarlierRows) return []
    return [{ column, format, print: createValuePrinter(format) }]
  })
  if (watchedColumns.length === 0) return []
  const encoder = new SampleEncoder(wasm, dialect, columns)
  const lostFormats: LostFormat[] = []
  for (const { records, part } of readRecords(parts, maxSearchedBytes, (part) =>
    openRows(file, { ...dialect, ...part }, limits, wasm.window),
  )) {
    if (records.fault !== undefined) continue
    const encoded = encoder.encode(records)
    if (typeof encoded === 'string' || !('tuple' in encoded)) continue
    const [cells] = readTuples(encoded.tuple, columns, 1, Infinity).rows
    watchedColumns = watchedColumns.filter(({ column, format, print }) => {
      const cell = cells![column]!
      const text = fieldText(records, column)
      if (cell === null || (print(cellText(cell)) === text && !hasMoreDigits(text, format))) return true
      const { name } = part
      const position = { line: records.line, ...(name !== undefined && { part: name }) }
      lostFormats.push({ label: labels[column]!, format, value: text.slice(0, maxShownLength), ...position })
      return false
    })
    if (watchedColumns.length === 0) break
  }
  return lostFormats
}

/** Returns whether a value has more digits than its format, which prints all digits of such a value. */
function hasMoreDigits(text: string, format: string): boolean {
  if (/^[DMY]/.test(format)) return !format.includes('#') && text.length > format.length
  const [, fraction] = /[.,](0+)$/.exec(format) ?? []
  return fraction !== undefined && /\d*$/.exec(text)![0].length > fraction.length
}

const cellText = (cell: PreviewCell): string => (typeof cell === 'string' ? cell : JSON.stringify(cell))

/** Returns a sentence for users about the value because of which a column lost its source format. */
export const describeLostFormat = ({ label, format, value, line, part }: LostFormat): string =>
  `Column "${label}" no longer has the source format ${format} of earlier loads, because of "${value}" in line ${line}${part === undefined ? '' : ` of ${part}`}.`
