import { maxColumns } from '@sluice/row-stream'
import type { RowOutput } from '../spool/output.ts'

const QUOTE = 34
const COMMA = 44
const LF = 10

/**
 * One row of a sheet as a line of delimited text. The line has the columns from `first` to `last`, which were guessed. A
 * cell with a value outside this range widens it, and marks that another pass is necessary.
 */
export class SheetRow {
  /** The columns in use so far, from 0; the range is empty while `first` exceeds `last`. */
  first: number
  last: number
  late = false
  rows = 0
  readonly #output: RowOutput | undefined
  readonly #longest: number
  #line = Buffer.allocUnsafeSlow(64 * 1024)
  #at = 0
  /** Number of columns of the line that are already written. */
  #column = 0

  /** If `output` is absent, the row only collects columns. */
  constructor({ first, last }: { first: number; last: number }, longest: number, output?: RowOutput) {
    this.first = first
    this.last = last
    this.#longest = longest
    this.#output = output
  }

  get width(): number {
    return this.last - this.first + 1
  }

  get tooWide(): boolean {
    return this.width > maxColumns
  }

  begin(): void {
    this.#at = 0
    this.#column = 0
  }

  /** Adds a cell's value. Its column must follow all earlier columns of this row. */
  put(column: number, bytes: Uint8Array, from: number, to: number, quoted: boolean): void {
    if (column < this.first || column > this.last) this.#widen(column)
    if (this.late || !this.#output) return
    this.#room(to - from + column + 4)
    let at = this.#at
    for (; this.#column < column - this.first; this.#column++) this.#line[at++] = COMMA
    if (quoted) this.#line[at++] = QUOTE
    for (let i = from; i < to; i++) this.#line[at++] = bytes[i]!
    if (quoted) this.#line[at++] = QUOTE
    this.#at = at
  }

  /** Writes the row unless it is empty. `number` is the row's number in the sheet. */
  end(number: number): void {
    if (this.#at === 0 || this.late || !this.#output) return
    const { writer, rejects } = this.#output
    this.rows++
    if (this.#at > this.#longest) {
      const reason = `is longer than ${Math.floor(this.#longest / 1024 / 1024)} MB`
      return rejects.add(number, reason, this.#line.subarray(0, Math.min(this.#at, 8192)))
    }
    const missing = this.width - 1 - this.#column
    this.#room(missing + 1)
    this.#line.fill(COMMA, this.#at, this.#at + missing)
    this.#line[this.#at + missing] = LF
    writer.put(this.#line.subarray(0, this.#at + missing + 1))
  }

  #widen(column: number): void {
    if (this.#output) this.late = true
    if (this.first > this.last) this.first = this.last = column
    this.first = Math.min(this.first, column)
    this.last = Math.max(this.last, column)
  }

  #room(more: number): void {
    if (this.#at + more <= this.#line.length) return
    // Only the start of an overlong row is kept.
    if (this.#at > this.#longest) this.#at = this.#longest + 1
    const line = Buffer.allocUnsafeSlow((this.#at + more) * 2)
    this.#line.copy(line, 0, 0, this.#at)
    this.#line = line
  }
}
