import { type CellText, UnencodableValueError } from './exported-column.ts'

const [quote, comma, lineFeed, carriageReturn] = [0x22, 0x2c, 0x0a, 0x0d]

/** The maximum bytes of a field that is divided among chunks. */
const maxFieldBytes = 64 * 1024 * 1024

/**
 * Splits CSV that a warehouse has written (RFC 4180, valid UTF-8, no stray quotes) into cells. An empty field is NULL,
 * and `""` is an empty text. Chunks may end anywhere.
 */
export class CsvCells {
  readonly #width: number
  #columns: CellText[][]
  #rows = 0
  /** The bytes of the current field from earlier chunks. */
  #partialField: Buffer[] = []
  #partialBytes = 0
  #column = 0
  #isQuoted = false
  #isInQuotes = false

  /** Creates a splitter. `width` is the number of columns. The header must already be removed. */
  constructor(width: number) {
    this.#width = width
    this.#columns = this.#emptyColumns()
  }

  /** The number of complete rows that were not taken yet. */
  get rows(): number {
    return this.#rows
  }

  /** True if the last row is complete. */
  get isAtRowStart(): boolean {
    return this.#column === 0 && this.#partialBytes === 0
  }

  /** Returns the cells of all complete rows, column by column, and clears them. */
  take(): CellText[][] {
    const columns = this.#columns
    if (!this.isAtRowStart) throw new Error('Internal error: a row of an export is not complete.')
    this.#columns = this.#emptyColumns()
    this.#rows = 0
    return columns
  }

  /**
   * Reads the bytes of a chunk from `from` on, until `maxRows` rows are complete or the chunk ends. Returns the
   * position of the first byte that was not read. Throws UnencodableValueError if a value is too large.
   */
  read(chunk: Buffer, from: number, maxRows: number): number {
    let start = from
    let position = from
    for (; position < chunk.length; position += 1) {
      const byte = chunk[position]!
      if (this.#isInQuotes) {
        if (byte === quote) this.#isInQuotes = false
      } else if (byte === quote) {
        // A doubled quote inside a quoted field is treated as the end of one quoted text and the start of another.
        this.#isQuoted = true
        this.#isInQuotes = true
      } else if (byte === comma) {
        this.#endField(chunk.subarray(start, position))
        start = position + 1
      } else if (byte === lineFeed) {
        this.#endField(chunk.subarray(start, position))
        start = position + 1
        this.#column = 0
        this.#rows += 1
        if (this.#rows >= maxRows) return start
      }
    }
    const remaining = chunk.subarray(start)
    if (remaining.length > 0) {
      this.#partialField.push(Buffer.from(remaining))
      this.#partialBytes += remaining.length
      if (this.#partialBytes > maxFieldBytes)
        throw new UnencodableValueError(
          'A value is larger than 64 MB, which this format cannot store. Export the rows as CSV, or make a view without the column.',
        )
    }
    return position
  }

  /** Adds the current field to its column. `bytes` is the rest of the field, after the bytes of earlier chunks. */
  #endField(bytes: Buffer): void {
    let field = bytes
    if (this.#partialBytes > 0) {
      field = Buffer.concat([...this.#partialField, bytes])
      this.#partialField = []
      this.#partialBytes = 0
    }
    if (this.#column >= this.#width) throw new Error('Internal error: a row of an export has too many fields.')
    const values = this.#columns[this.#column]!
    values.push(this.#isQuoted ? unquote(field) : unquotedValue(field))
    this.#isQuoted = false
    this.#column += 1
  }

  #emptyColumns(): CellText[][] {
    return Array.from({ length: this.#width }, () => [])
  }
}

/** Returns the text of an unquoted field without a CR at its end, or null if the field is empty. */
function unquotedValue(field: Buffer): CellText {
  const end = field.at(-1) === carriageReturn ? field.length - 1 : field.length
  return end === 0 ? null : field.toString('utf8', 0, end)
}

/**
 * Returns the text of a quoted field. Ignores bytes after the closing quote, because CR may follow the last field of a
 * row.
 */
function unquote(field: Buffer): string {
  const text = field.toString('utf8')
  return text.slice(1, text.lastIndexOf('"')).replaceAll('""', '"')
}
