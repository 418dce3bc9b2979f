import { isUtf8 } from 'node:buffer'
import type { DeclaredColumn } from '../format/upload-options.ts'
import { maxColumns, SourceProblem } from '@sluice/row-stream'
import { wasmJson } from './wasm-json.ts'

export const SEEN_PLAIN = 1
export const SEEN_NESTED = 2
/** Bits for kinds of values. SEEN_DATE: a text that starts like a date. */
export const SEEN_DATE = 4
export const SEEN_TEXT = 8

/** The maximum number of cached key spellings. A key can be escaped in very many ways. */
const maxSpellings = 10_000

/**
 * Maps the keys of all objects to columns, in the order of their first appearance. The WebAssembly scanner has one
 * set of columns at a time.
 */
export class JsonColumns {
  readonly labels: string[] = []
  /** Bits for the kinds of values in each column. */
  readonly seen = wasmJson.seen
  readonly #name: string
  readonly #byLabel = new Map<string, number>()
  readonly #bySpelling = new Map<string, number>()

  constructor(name: string) {
    this.#name = name
    this.seen.fill(0)
    wasmJson.run.resetColumns()
    wasmJson.findOrAddColumn = (from, to) => this.#indexOf(from, to)
  }

  /**
   * Returns the column for the key with this spelling. Adds a column for a new key. Returns -1 if the key is not valid
   * UTF-8. Throws SourceProblem TOO_MANY_COLUMNS or JSON_BROKEN.
   */
  #indexOf(from: number, to: number): number {
    const bytes = wasmJson.window
    const spelling = bytes.toString('latin1', from, to)
    const knownIndex = this.#bySpelling.get(spelling)
    if (knownIndex !== undefined) return knownIndex
    if (!isUtf8(bytes.subarray(from, to))) return -1
    const index = this.#column(bytes.toString('utf8', from, to))
    if (this.#bySpelling.size < maxSpellings) this.#bySpelling.set(spelling, index)
    const { run } = wasmJson
    if (index === run.width.value) run.addColumn(run.IN.value + from, to - from)
    return index
  }

  /**
   * Returns the types that JSON itself declares: texts stay texts, except dates; objects and arrays are JSONB. Other
   * types are inferred.
   */
  declared(): DeclaredColumn[] {
    return this.labels.flatMap((label, index): DeclaredColumn[] => {
      const seenKinds = this.seen[index]!
      if (seenKinds === SEEN_NESTED) return [{ index, label, dataType: 'JSONB', hasValidJson: true }]
      return seenKinds & (SEEN_TEXT | SEEN_NESTED) ? [{ index, label, dataType: 'TEXT' }] : []
    })
  }

  /** Returns the index of a key's column. `spelling` is the key as written in the file. Adds a column for a new key. */
  #column(spelling: string): number {
    const label = JSON.parse(`"${spelling}"`) as string
    const knownIndex = this.#byLabel.get(label)
    if (knownIndex !== undefined) return knownIndex
    if (this.labels.length === maxColumns) {
      const text = `${this.#name} has objects with more than ${maxColumns} different keys; a table holds no more columns. Keys that are data, such as dates or ids, should be values.`
      throw new SourceProblem('TOO_MANY_COLUMNS', text)
    }
    if (label.includes('\0') || !label.isWellFormed()) {
      throw new SourceProblem(
        'JSON_BROKEN',
        `${this.#name} has a key that cannot be the name of a column: "${spelling.slice(0, 200)}".`,
      )
    }
    this.#byLabel.set(label, this.labels.length)
    return this.labels.push(label) - 1
  }
}
