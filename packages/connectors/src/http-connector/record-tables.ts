import { SourceProblem } from '@sluice/row-stream'
import { isExact } from './exact-json.ts'
import { BadRecord, type FlattenOptions, type RecordValue, flatten, idText, type RecordRow } from './flatten-record.ts'
import { tableName } from './table-names.ts'
import { hash } from 'node:crypto'
import { closeSync, writeSync } from 'node:fs'
import type { DataType } from '@sluice/contracts'
import { diskProblem, openSpool } from '@sluice/file-formats/spool/spool-file'
import { tooLarge } from '@sluice/file-formats/spool/spool-writer'

export interface RecordShape extends FlattenOptions {
  table: string
  /** Paths of the key; empty without a key. */
  key: readonly string[]
  columns?: readonly KnownColumn[]
  /** Whether types are inferred from strings, because the system writes numbers and dates as text. */
  inferStrings?: boolean
}

const maxTables = 100
/** Maximum number of cached group tables by group path: building the name takes longer than writing a row. */
const maxCachedGroups = 1_000

/** Converts records of one kind to rows of their table and of the tables of their groups. Keeps only keys in memory. */
export class RecordTables implements Disposable {
  readonly root: TableSpool
  readonly shape: RecordShape
  readonly #groups = new Map<string, TableSpool>()
  readonly #ways = new Map<string, TableSpool>()
  readonly #keys = new SeenKeys()
  readonly #directory: string
  readonly #limit: number
  /** Number of records so far, including rejected ones. */
  records = 0

  /** Creates spools in `directory`, each of at most `limit` bytes. */
  constructor(shape: RecordShape, directory: string, limit: number) {
    this.shape = shape
    this.#directory = directory
    this.#limit = limit
    const known = shape.columns ?? []
    const own = known.filter(({ groups }) => groups === undefined)
    this.root = new TableSpool(shape.table, shape.key, own, directory, limit)
    for (const { groups } of known) if (groups) this.#group(groups)
  }

  get all(): TableSpool[] {
    return [this.root, ...this.#groups.values()]
  }

  /** Adds a record if its key is new; returns how it compares with earlier records. Throws `BadRecord`. */
  add(record: unknown): KeyComparison {
    this.records += 1
    if (record instanceof BadRecord) throw record
    if (typeof record !== 'object' || record === null || Array.isArray(record))
      throw new BadRecord('is no object, so it has no fields')
    const { key } = this.shape
    const ids = key.map((path) => readKeyValue(record, path))
    const [id = this.records] = ids
    const { row, groups } = flatten(record, ids.length > 1 ? ids.map(idText).join('/') : id, this.shape)
    const seen = key.length > 0 ? this.#keys.compare(JSON.stringify(ids), JSON.stringify(record)) : 'NEW'
    if (seen !== 'NEW') return seen
    this.root.add(row)
    for (const group of groups) this.#at(group.groups).add(group.row)
    return seen
  }

  flush(): void {
    for (const table of this.all) table.flush()
  }

  [Symbol.dispose](): void {
    for (const table of this.all) table[Symbol.dispose]()
  }

  /** The columns that link the rows of a group to their parents. Ids of records have the same type as in the records. */
  #places(groups: readonly string[]): KnownColumn[] {
    const id = this.shape.key.length === 1 ? this.root.known.get(this.shape.key[0]!)?.dataType : undefined
    const ofRecord = id && { dataType: id }
    return [
      { path: '_row_id', dataType: 'TEXT' },
      { path: '_parent_row_id', ...(groups.length > 1 ? { dataType: 'TEXT' } : ofRecord) },
      { path: '_root_row_id', ...ofRecord },
      { path: '_index', dataType: 'INTEGER' },
    ]
  }

  #at(groups: readonly string[]): TableSpool {
    const way = groups.join('\0')
    const known = this.#ways.get(way)
    if (known) return known
    if (this.#ways.size === maxCachedGroups) this.#ways.clear()
    const table = this.#group(groups)
    this.#ways.set(way, table)
    return table
  }

  #group(groups: readonly string[]): TableSpool {
    const name = tableName(this.shape.table, groups)
    const found = this.#groups.get(name)
    if (found) return found
    if (this.#groups.size === maxTables) throw tooManyTablesProblem(this.shape.table)
    const path = groups.join('\0')
    const own = (this.shape.columns ?? []).filter((column) => column.groups?.join('\0') === path)
    const table = new TableSpool(name, ['_row_id'], [...this.#places(groups), ...own], this.#directory, this.#limit)
    this.#groups.set(name, table)
    return table
  }
}

/** Returns the value at a path. Dots separate its parts, unless a field has the whole path as its name. */
function readKeyValue(record: object, path: string): RecordValue {
  const fields = record as Record<string, unknown>
  const value =
    path in fields
      ? fields[path]
      : path.split('.').reduce<unknown>((at, part) => (at as Record<string, unknown> | undefined)?.[part], record)
  const known =
    (typeof value === 'string' && value !== '') ||
    typeof value === 'number' ||
    (typeof value === 'object' && value !== null && isExact(value))
  if (!known) throw new BadRecord(`has no value in "${path}", which is to tell it from others`, path)
  return value as RecordValue
}

const tooManyTablesProblem = (table: string): SourceProblem =>
  new SourceProblem(
    'TOO_MANY_TABLES',
    `The records of ${table} have more than ${maxTables} groups in them, and each would be a table. Choose less to load.`,
  )

/**
 * NEW: the key is new. SAME: an earlier record has the same key and content. OTHER: an earlier record has the same key and
 * other content.
 */
type KeyComparison = 'NEW' | 'SAME' | 'OTHER'

/** Maximum number of keys in each of two generations: when the newer one is full, the older one is discarded. */
const mostInHalf = 250_000
/** Maximum characters of a key that is stored unchanged; longer keys are stored as hashes. */
const mostAsItIs = 64

/**
 * Detects repeated keys. Lists that are read page by page shift during the read, so that a record can occur twice within some
 * pages. Records that repeat after more than half a million keys are not detected here; the warehouse rejects them.
 */
export class SeenKeys {
  /** 32 bits of a hash of the content, by key. */
  #newer = new Map<string, number>()
  #older = new Map<string, number>()

  /** Returns whether the key is new. */
  add(whole: string): boolean {
    return this.compare(whole, '') === 'NEW'
  }

  /** Stores the key with its content and returns how it compares with an earlier one. */
  compare(whole: string, content: string): KeyComparison {
    const key = whole.length > mostAsItIs ? hash('sha256', whole, 'base64') : whole
    const mark = content === '' ? 0 : hash('sha1', content, 'buffer').readInt32LE()
    const known = this.#newer.get(key) ?? this.#older.get(key)
    if (known !== undefined) return known === mark ? 'SAME' : 'OTHER'
    if (this.#newer.size === mostInHalf) {
      this.#older = this.#newer
      this.#newer = new Map()
    }
    this.#newer.set(key, mark)
    return 'NEW'
  }
}


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
