import { closeSync, writeSync } from 'node:fs'
import type { DataType } from '@sluice/contracts'
import { SourceProblem } from '@sluice/row-stream'
import { isExact } from '../http-connector/exact-numbers.ts'
import { diskProblem, openSpool } from '@sluice/file-formats/spool/spool-file'
import { tooLarge } from '@sluice/file-formats/spool/spool-writer'
import type { RecordRow, RecordValue } from './flatten.ts'

const TEXT = 1
const OTHER = 2
const NESTED = 4

/** A column that the system declares. */
export interface KnownColumn {
  /** Its path in the record. */
  path: string
  label?: string
  dataType?: DataType
  /** Whether the column exists even if no record has it. */
  always?: boolean
  /** The groups that contain the column, from the outermost; empty for columns of the record itself. */
  groups?: readonly string[]
}

const bufferCharacters = 64 * 1024
const maxColumnsPerTable = 1_600

/** The spooled rows of one table: a JSON line for each, in an unnamed file. */
export class TableSpool implements Disposable {
  readonly key: readonly string[]
  /** Columns by path in the order of their first occurrence, with flags for the kinds of values seen. */
  readonly seen = new Map<string, number>()
  /** The columns that the system declares, found or not. */
  readonly known: ReadonlyMap<string, KnownColumn>
  readonly name: string
  rows = 0
  size = 0
  readonly #limit: number
  #descriptor: number | undefined
  readonly #directory: string
  #waiting = ''

  /** `name` is the table name, `limit` is in bytes. */
  constructor(name: string, key: readonly string[], known: readonly KnownColumn[], directory: string, limit: number) {
    this.name = name
    this.key = key
    this.known = new Map(known.map((column) => [column.path, column]))
    this.#directory = directory
    this.#limit = limit
  }

  get descriptor(): number {
    return (this.#descriptor ??= openSpool(this.#directory))
  }

  add(row: RecordRow): void {
    let line = '{'
    for (const [path, value] of this.rows === 0 ? this.#withEmptyOnes(row) : row) {
      this.seen.set(path, (this.seen.get(path) ?? this.#newColumn()) | valueKind(value))
      line += `${line === '{' ? '' : ','}${JSON.stringify(path)}:${JSON.stringify(value)}`
    }
    this.rows += 1
    this.#waiting += `${line}}\n`
    if (this.#waiting.length >= bufferCharacters) this.flush()
  }

  flush(): void {
    if (this.#waiting === '') return
    const bytes = Buffer.from(this.#waiting)
    this.#waiting = ''
    if (this.size + bytes.length > this.#limit) throw tooLarge(this.name, this.#limit)
    try {
      for (let done = 0; done < bytes.length; ) {
        const wrote = writeSync(this.descriptor, bytes, done, bytes.length - done, this.size)
        done += wrote
        this.size += wrote
      }
    } catch (error) {
      throw diskProblem(error) ?? error
    }
  }

  /** Whether all values of a column are texts. */
  isText(path: string): boolean {
    return this.seen.get(path) === TEXT
  }

  [Symbol.dispose](): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor)
    this.#descriptor = undefined
  }

  /** Returns a row that starts with the columns that always exist, in their order. */
  #withEmptyOnes(row: RecordRow): ReadonlyMap<string, RecordValue | null> {
    const always = [...this.known.values()].filter((column) => column.always)
    return new Map<string, RecordValue | null>([...always.map(({ path }) => [path, null] as const), ...row])
  }

  #newColumn(): number {
    if (this.seen.size < maxColumnsPerTable) return 0
    throw new SourceProblem(
      'TOO_MANY_COLUMNS',
      `${this.name} has records with more than ${maxColumnsPerTable} different fields; a table holds no more columns. Choose less to load.`,
    )
  }
}

function valueKind(value: RecordValue | null): number {
  if (value === null) return 0
  if (typeof value === 'string') return TEXT
  return typeof value === 'object' && !isExact(value) ? NESTED : OTHER
}
