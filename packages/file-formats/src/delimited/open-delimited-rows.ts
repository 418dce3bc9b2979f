import { detectDialect, findPreviousLabels } from './dialect/detect-dialect.ts'
import type { DelimitedDialect, DetectedDialect, DetectedOptions } from './dialect/dialect.ts'
import type { DelimitedOptions } from './dialect/delimited-options.ts'
import type { ReadableFile } from './dialect/file-sample.ts'
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

/**
 * Detects the dialect of a file. First tries the grammar (delimiter, quote, escape) of the previous file of the table.
 */
export function detectText(file: TextSource, options: DelimitedOptions): DetectedDialect {
  return detectWithPreviousGrammar(file, options) ?? detectDialect(file, options)
}

/**
 * Detects the dialect with the grammar of the table's previous file as additional options. Returns undefined if this
 * finds none of that file's columns or fails, and if the table has no previous file. Throws SourceProblem
 * DECIMAL_SIGN_CHANGED.
 */
function detectWithPreviousGrammar(source: ReadableFile, options: DelimitedOptions): DetectedDialect | undefined {
  const { previousDialect } = options
  if (!previousDialect?.delimiter) return undefined
  const { delimiter, quote, escape, headerRow } = previousDialect
  const grammar = { delimiter, ...(quote && { quote }), ...(escape && { escape }) }
  const usesPreviousHeader = headerRow !== undefined && options.headerLines === undefined
  const header = usesPreviousHeader ? { headerRow } : {}
  try {
    const detected = detectDialect(source, { ...grammar, ...header, ...options })
    const previousLabels = findPreviousLabels(detected.dialect.labels, previousDialect)
    if (previousLabels.every((label) => label === undefined)) return undefined
    return { ...detected, guesses: withOriginalOptions(detected.guesses, options) }
  } catch (error) {
    // For DECIMAL_SIGN_CHANGED, the grammar fits the file, but its decimal sign differs. Another grammar could read the
    // same numbers as other values, so the error is thrown.
    if (error instanceof SourceProblem && error.code !== 'DECIMAL_SIGN_CHANGED') return undefined
    throw error
  }
}

/**
 * Sets `given` only for the options that the user set, because detection also received options from the previous file.
 */
function withOriginalOptions(guesses: DetectedOptions, options: DelimitedOptions): DetectedOptions {
  const isSetByUser = (name: 'delimiter' | 'quote' | 'escape' | 'headerRow') => options[name] !== undefined
  return {
    ...guesses,
    delimiter: { ...guesses.delimiter, given: isSetByUser('delimiter') },
    quote: { ...guesses.quote, given: isSetByUser('quote') },
    escape: { ...guesses.escape, given: isSetByUser('escape') },
    headerRow: { ...guesses.headerRow, given: isSetByUser('headerRow') },
  }
}

/**
 * Opens the rows of a file for one pass. `memory` is the window for the bytes; without it, a new one is allocated.
 * Throws SourceProblem TOO_MANY_COLUMNS.
 */
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
 * Throws SourceProblem TOO_MANY_COLUMNS if the rows have more fields than the scanner supports. Empty fields from
 * trailing delimiters count too.
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
