import { SourceProblem } from '@sluice/row-stream'
import { isExact } from '../http-connector/exact-numbers.ts'
import { BadRecord, type FlattenOptions, type RecordValue, flatten, idText } from './flatten.ts'
import { tableName } from './names.ts'
import { type KnownColumn, TableSpool } from './table-spool.ts'
import { hash } from 'node:crypto'

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
