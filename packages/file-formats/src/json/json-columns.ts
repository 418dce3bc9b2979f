import { isUtf8 } from 'node:buffer'
import type { DeclaredColumn } from '../format/upload-options.ts'
import { maxColumns, SourceProblem } from '@sluice/row-stream'
import { wasmJson } from './wasm-json-scanner.ts'

/** Bits for the kinds of values in a column. SEEN_DATE: a text that starts like a date. */
export const SEEN_PLAIN = 1
export const SEEN_NESTED = 2
export const SEEN_DATE = 4
export const SEEN_TEXT = 8

/** The maximum number of stored spellings of keys. A key can be escaped in very many ways. */
const maxSpellings = 10_000

/**
 * Maps the keys of all objects to columns, in the order of their first appearance. The WebAssembly scanner has one
 * set of columns at a time.
 */
export class JsonColumns {
  readonly labels: string[] = []
  /** Bits for the kinds of values in each column until now. */
  readonly seen = wasmJson.seen
  readonly #name: string
  readonly #byLabel = new Map<string, number>()
  readonly #bySpelling = new Map<string, number>()

  constructor(name: string) {
    this.#name = name
    this.seen.fill(0)
    wasmJson.run.resetColumns()
    wasmJson.findOrAddColumn = (from, to) => this.#findOrAddBySpelling(from, to)
  }

  /**
   * Returns the index of the column for the key between two positions of the window, as it is spelled there. Adds a
   * column for a new key, also in the scanner. Returns -1 if the key is not valid UTF-8. Throws SourceProblem
   * TOO_MANY_COLUMNS or JSON_BROKEN.
   */
  #findOrAddBySpelling(from: number, to: number): number {
    const bytes = wasmJson.window
    const spelling = bytes.toString('latin1', from, to)
    const knownIndex = this.#bySpelling.get(spelling)
    if (knownIndex !== undefined) return knownIndex
    if (!isUtf8(bytes.subarray(from, to))) return -1
    const index = this.#findOrAdd(bytes.toString('utf8', from, to))
    if (this.#bySpelling.size < maxSpellings) this.#bySpelling.set(spelling, index)
    const { run } = wasmJson
    const isNewColumn = index === run.width.value
    if (isNewColumn) run.addColumn(run.IN.value + from, to - from)
    return index
  }

  /**
   * Returns the columns with types that follow from JSON itself. A column with only objects and arrays is JSONB. A
   * column with texts other than dates, or with objects or arrays among other values, is TEXT. Other types are inferred
   * later.
   */
  declaredColumns(): DeclaredColumn[] {
    return this.labels.flatMap((label, index): DeclaredColumn[] => {
      const seenKinds = this.seen[index]!
      if (seenKinds === SEEN_NESTED) return [{ index, label, dataType: 'JSONB', hasValidJson: true }]
      const hasTexts = (seenKinds & (SEEN_TEXT | SEEN_NESTED)) !== 0
      return hasTexts ? [{ index, label, dataType: 'TEXT' }] : []
    })
  }

  /**
   * Returns the index of a key's column, or adds a column. `spelling` is the key as the file spells it, with its
   * escapes.
   */
  #findOrAdd(spelling: string): number {
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
