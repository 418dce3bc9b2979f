import { type CellText, UnencodableValueError } from './exported-column.ts'

const [quote, comma, lineFeed, carriageReturn] = [0x22, 0x2c, 0x0a, 0x0d]

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

  /** Reads bytes until `maxRows` rows are complete. Returns the position of the first byte that was not read. */
  read(chunk: Buffer, from: number, maxRows: number): number {
    let start = from
    let position = from
    for (; position < chunk.length; position += 1) {
      const byte = chunk[position]!
      if (this.#isInQuotes) {
        if (byte === quote) this.#isInQuotes = false
      } else if (byte === quote) {
        // A quote inside a quoted field is doubled. It is handled as the end of one quoted part and the start of
        // another.
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

  #endField(bytes: Buffer): void {
    let field = bytes
    if (this.#partialBytes > 0) {
      field = Buffer.concat([...this.#partialField, bytes])
      this.#partialField = []
      this.#partialBytes = 0
    }
    const end = !this.#isQuoted && field.at(-1) === carriageReturn ? field.length - 1 : field.length
    if (this.#column >= this.#width) throw new Error('Internal error: a row of an export has too many fields.')
    const values = this.#columns[this.#column]!
    if (this.#isQuoted) values.push(unquote(field))
    else values.push(end === 0 ? null : field.toString('utf8', 0, end))
    this.#isQuoted = false
    this.#column += 1
  }

  #emptyColumns(): CellText[][] {
    return Array.from({ length: this.#width }, () => [])
  }
}

/**
 * Returns the text of a quoted field. Ignores bytes after the closing quote, because CR may follow the last field of a
 * row.
 */
function unquote(field: Buffer): string {
  const text = field.toString('utf8')
  return text.slice(1, text.lastIndexOf('"')).replaceAll('""', '"')
}
