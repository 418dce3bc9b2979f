import { isUtf8 } from 'node:buffer'
import type { DeclaredColumn } from '../upload.ts'
import { maxColumns, SourceProblem } from '../../source.ts'

export const PLAIN = 1
export const NESTED = 2
/** A text that begins like a day. */
export const DAY = 4
export const TEXT = 8

const QUOTE = 34
/** Spellings of keys that are remembered: a key can be escaped in endlessly many ways. */
const maxSpellings = 10_000

/** The keys of all objects as columns, in the order in which they appear first. */
export class JsonColumns {
  readonly labels: string[] = []
  /** Bits of what each column was seen to hold. */
  readonly seen = new Uint8Array(maxColumns)
  readonly #name: string
  readonly #byLabel = new Map<string, number>()
  readonly #bySpelling = new Map<string, number>()
  readonly #spellings: Uint8Array[] = []

  constructor(name: string) {
    this.#name = name
  }

  /**
   * The place behind the closing quote of the key that is opened at `from`, if it is spelled like that of this column, or 0. Objects
   * mostly have their keys in one order, so that the next one can be told without being walked over.
   */
  endOf(column: number, bytes: Uint8Array, from: number, end: number): number {
    const spelling = this.#spellings[column]
    if (spelling === undefined) return 0
    const closing = from + spelling.length + 1
    if (closing >= end || bytes[closing] !== QUOTE) return 0
    for (let i = 0; i < spelling.length; i++) if (bytes[from + 1 + i] !== spelling[i]) return 0
    return closing + 1
  }

  /**
   * The column of the key that is spelled in these bytes, a new one where there is none; -1 where it is no UTF-8.
   * Throws SourceProblem TOO_MANY_COLUMNS or JSON_BROKEN.
   */
  indexOf(bytes: Buffer, from: number, to: number): number {
    const spelling = bytes.toString('latin1', from, to)
    const known = this.#bySpelling.get(spelling)
    if (known !== undefined) return known
    if (!isUtf8(bytes.subarray(from, to))) return -1
    const index = this.#column(bytes.toString('utf8', from, to))
    if (this.#bySpelling.size < maxSpellings) this.#bySpelling.set(spelling, index)
    this.#spellings[index] ??= Uint8Array.from(bytes.subarray(from, to))
    return index
  }

  /** What the source says of its columns: texts are texts whatever they look like, but for days; objects and arrays are JSONB. */
  declared(): DeclaredColumn[] {
    return this.labels.flatMap((label, index): DeclaredColumn[] => {
      const seen = this.seen[index]!
      if (seen === NESTED) return [{ index, label, dataType: 'JSONB' }]
      return seen & (TEXT | NESTED) ? [{ index, label, dataType: 'TEXT' }] : []
    })
  }

  #column(spelling: string): number {
    const label = JSON.parse(`"${spelling}"`) as string
    const known = this.#byLabel.get(label)
    if (known !== undefined) return known
    if (this.labels.length === maxColumns) {
      const text = `${this.#name} has objects with more than ${maxColumns} different keys; a table holds no more columns. Keys that are data, such as dates or ids, should be values.`
      throw new SourceProblem('TOO_MANY_COLUMNS', text)
    }
    if (label.includes('\0') || !label.isWellFormed()) {
      throw new SourceProblem(
        'JSON_BROKEN',
        `${this.#name} has a key that no column can be called by: "${spelling.slice(0, 200)}".`,
      )
    }
    this.#byLabel.set(label, this.labels.length)
    return this.labels.push(label) - 1
  }
}
