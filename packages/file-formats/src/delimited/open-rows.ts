import { detectDialect, longestSample } from './dialect/detect-dialect.ts'
import type { DelimitedDialect, DetectedDialect, DetectedOptions } from './dialect/dialect.ts'
import type { DelimitedOptions } from './dialect/delimited-options.ts'
import type { ReadableFile } from './dialect/sample.ts'
import type { DelimitedLimits } from './limits.ts'
import { maxColumns, SourceProblem } from '@sluice/row-stream'
import { RecordReader } from './record-reader.ts'
import type { RowShape } from './rejected-row.ts'
import { type TextSource, utf8Reader, type Utf8Reader } from './text-file.ts'

/** The records of a file from the first row on, with the expected shape of a row. */
export interface RowInput {
  records: RecordReader
  reader: Utf8Reader
  shape: RowShape
}

/** Detects the dialect of a file as `detectDialect` does. UTF-16 is decoded first. */
export function detectText(file: TextSource, options: DelimitedOptions): DetectedDialect {
  const source = file.encoding === 'UTF-8' ? file : decodedHead(file)
  return detectAsRemembered(source, options) ?? detectDialect(source, options)
}

/** Uses the grammar of the table's last file, unless it finds none of the table's columns. */
function detectAsRemembered(source: ReadableFile, options: DelimitedOptions): DetectedDialect | undefined {
  const { remembered } = options
  if (!remembered?.delimiter) return undefined
  const { delimiter, quote, escape, headerRow, labels } = remembered
  const grammar = { delimiter, ...(quote && { quote }), ...(escape && { escape }) }
  const header = headerRow === undefined || options.headerLines !== undefined ? {} : { headerRow }
  try {
    const detected = detectDialect(source, { ...grammar, ...header, ...options })
    if (!detected.dialect.labels.some((label) => labels.includes(label))) return undefined
    return { ...detected, guesses: withOriginalOptions(detected.guesses, options) }
  } catch (error) {
    if (error instanceof SourceProblem && error.code !== 'DECIMAL_SIGN_CHANGED') return undefined
    throw error
  }
}

/** Marks remembered options as detected, because no user set them. */
function withOriginalOptions(guesses: DetectedOptions, options: DelimitedOptions): DetectedOptions {
  const given = (name: 'delimiter' | 'quote' | 'escape' | 'headerRow') => options[name] !== undefined
  return {
    ...guesses,
    delimiter: { ...guesses.delimiter, given: given('delimiter') },
    quote: { ...guesses.quote, given: given('quote') },
    escape: { ...guesses.escape, given: given('escape') },
    headerRow: { ...guesses.headerRow, given: given('headerRow') },
  }
}

/** Opens the rows of a file for one pass. The window lies in `memory` if that is given. */
export function openRows(
  file: TextSource,
  dialect: DelimitedDialect,
  limits: DelimitedLimits,
  memory?: Buffer,
): RowInput {
  assertColumnsFit(dialect)
  const reader = file.encoding === 'UTF-8' ? new RowsReader(file, dialect) : new DecodedRowsReader(file, dialect)
  const records = new RecordReader(reader, dialect, limits, memory)
  const { labels, headerLine, trailing } = dialect
  records.line = dialect.line
  records.width = labels.length
  records.trailing = trailing
  return { records, reader, shape: { labels, headerRow: headerLine > 0, recordBytes: limits.recordBytes } }
}

/** Throws TOO_MANY_COLUMNS if the scanner has not enough room for the fields, trailing ones included. */
function assertColumnsFit({ labels, trailing }: DelimitedDialect): void {
  if (labels.length + trailing <= maxColumns) return
  const fields = `${labels.length} columns and ${trailing} trailing delimiters`
  throw new SourceProblem('TOO_MANY_COLUMNS', `${fields} are more than ${maxColumns} fields: lower trailingDelimiters.`)
}

/** The bytes between the first row and the footer. */
class RowsReader implements Utf8Reader {
  position: number
  readonly #file: TextSource
  readonly #end: number

  constructor(file: TextSource, { from, end }: DelimitedDialect) {
    this.#file = file
    this.position = from
    this.#end = end
  }

  read(into: Uint8Array, at: number, maxBytes: number): number {
    const bytes = this.#file.read(into, at, Math.min(maxBytes, this.#end - this.position), this.position)
    this.position += bytes
    return bytes
  }
}

/** The same for UTF-16, which is decoded while it is read. */
class DecodedRowsReader implements Utf8Reader {
  readonly #reader: Utf8Reader
  #held: Buffer = Buffer.alloc(0)

  constructor(file: TextSource, { from }: DelimitedDialect) {
    this.#reader = utf8Reader(file)
    for (let decoded = 0; decoded < from; ) {
      const bytes = Buffer.allocUnsafe(decodedBytes)
      const read = this.#reader.read(bytes, 0, bytes.length)
      if (read === 0) break
      decoded += read
      this.#held = bytes.subarray(Math.max(0, read - (decoded - from)), read)
      if (decoded <= from) this.#held = Buffer.alloc(0)
    }
  }

  get position(): number {
    return this.#reader.position
  }

  read(into: Uint8Array, at: number, maxBytes: number): number {
    if (this.#held.length === 0) return this.#reader.read(into, at, maxBytes)
    const bytes = Math.min(maxBytes, this.#held.length)
    this.#held.copy(into, at, 0, bytes)
    this.#held = this.#held.subarray(bytes)
    return bytes
  }
}

const decodedBytes = 64 * 1024

/** Decodes the beginning of a text in UTF-16. The size of a longer text in UTF-8 is unknown before it is read. */
function decodedHead(file: TextSource): ReadableFile {
  const reader = utf8Reader(file)
  const head = Buffer.allocUnsafe(longestSample)
  let length = 0
  while (head.length - length >= 8) {
    const read = reader.read(head, length, head.length - length)
    if (read === 0) break
    length += read
  }
  const size = head.length - length >= 8 ? length : Number.MAX_SAFE_INTEGER
  return {
    name: file.name,
    size,
    read: (into, at, wanted, position) =>
      position >= length ? 0 : head.copy(into, at, position, Math.min(length, position + wanted)),
  }
}
