import { detectDialect } from './dialect/detect-dialect.ts'
import type { DelimitedDialect, DetectedDialect, DetectedOptions } from './dialect/dialect.ts'
import type { DelimitedOptions } from './dialect/delimited-options.ts'
import type { ReadableFile } from './dialect/sample.ts'
import type { DelimitedLimits } from './limits.ts'
import { maxColumns, SourceProblem } from '@sluice/row-stream'
import { RecordReader } from './record-reader.ts'
import type { RowShape } from './rejected-row.ts'
import type { TextSource, Utf8Reader } from './text-file.ts'

/** The records of a file from the first row on, and the expected shape of a row. */
export interface RowInput {
  records: RecordReader
  reader: Utf8Reader
  shape: RowShape
}

/** Detects the dialect of a file. First tries the grammar (delimiter, quote, escape) of the table's last file. */
export function detectText(file: TextSource, options: DelimitedOptions): DetectedDialect {
  return detectWithLastGrammar(file, options) ?? detectDialect(file, options)
}

/**
 * Detects the dialect with the grammar of the table's last file. Returns undefined if this finds none of that file's
 * columns.
 */
function detectWithLastGrammar(source: ReadableFile, options: DelimitedOptions): DetectedDialect | undefined {
  const { remembered: lastFile } = options
  if (!lastFile?.delimiter) return undefined
  const { delimiter, quote, escape, headerRow, labels } = lastFile
  const grammar = { delimiter, ...(quote && { quote }), ...(escape && { escape }) }
  const headerOption = headerRow === undefined || options.headerLines !== undefined ? {} : { headerRow }
  try {
    const detected = detectDialect(source, { ...grammar, ...headerOption, ...options })
    if (!detected.dialect.labels.some((label) => labels.includes(label))) return undefined
    return { ...detected, guesses: withOriginalOptions(detected.guesses, options) }
  } catch (error) {
    // For DECIMAL_SIGN_CHANGED, the grammar fits the file, but its decimal sign differs. Another grammar could read the
    // same numbers as other values, so the error is thrown.
    if (error instanceof SourceProblem && error.code !== 'DECIMAL_SIGN_CHANGED') return undefined
    throw error
  }
}

/** Marks as given only the options that the user set, because detection also received options from the last file. */
function withOriginalOptions(guesses: DetectedOptions, options: DelimitedOptions): DetectedOptions {
  const originalOption = (name: 'delimiter' | 'quote' | 'escape' | 'headerRow') => options[name] !== undefined
  return {
    ...guesses,
    delimiter: { ...guesses.delimiter, given: originalOption('delimiter') },
    quote: { ...guesses.quote, given: originalOption('quote') },
    escape: { ...guesses.escape, given: originalOption('escape') },
    headerRow: { ...guesses.headerRow, given: originalOption('headerRow') },
  }
}

/** Opens the rows of a file for one pass. `memory` is the window for the bytes; without it, a new one is allocated. */
export function openRows(
  file: TextSource,
  dialect: DelimitedDialect,
  limits: DelimitedLimits,
  memory?: Buffer,
): RowInput {
  assertColumnsFit(dialect)
  const reader = new RowsReader(file, dialect)
  const records = new RecordReader(reader, dialect, limits, memory)
  const { labels, headerLine, trailing } = dialect
  records.line = dialect.line
  records.width = labels.length
  records.trailing = trailing
  return { records, reader, shape: { labels, headerRow: headerLine > 0, recordBytes: limits.recordBytes } }
}

/**
 * Throws TOO_MANY_COLUMNS if the rows have more fields than the scanner supports. Empty fields from trailing delimiters
 * count too.
 */
function assertColumnsFit({ labels, trailing }: DelimitedDialect): void {
  if (labels.length + trailing <= maxColumns) return
  const fields = `${labels.length} columns and ${trailing} trailing delimiters`
  throw new SourceProblem('TOO_MANY_COLUMNS', `${fields} are more than ${maxColumns} fields: lower trailingDelimiters.`)
}

/** Reads the bytes from the first row to the start of the footer. */
class RowsReader implements Utf8Reader {
  position: number
  readonly #file: TextSource
  readonly #end: number

  constructor(file: TextSource, { from, end }: DelimitedDialect) {
    this.#file = file
    this.position = from
    this.#end = end
  }

  read(target: Uint8Array, filePosition: number, maxBytes: number): number {
    const bytes = this.#file.read(target, filePosition, Math.min(maxBytes, this.#end - this.position), this.position)
    this.position += bytes
    return bytes
  }
}
