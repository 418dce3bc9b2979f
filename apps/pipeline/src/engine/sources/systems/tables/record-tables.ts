import { SourceProblem } from '../../source.ts'
import { isExact } from './exact-numbers.ts'
import { BadRecord, type FlattenOptions, type RecordValue, flatten, idText } from './flatten.ts'
import { tableName } from './names.ts'
import { type KnownColumn, TableSpool } from './table-spool.ts'
import { hash } from 'node:crypto'

export interface RecordShape extends FlattenOptions {
  table: string
  /** Paths of the key; empty if there is none. */
  key: readonly string[]
  columns?: readonly KnownColumn[]
  /** Whether types are inferred from strings, because the system writes numbers and dates as text. */
  inferStrings?: boolean
}

const maxTables = 100
/** Ways to groups whose tables are remembered: to tell the name of one takes longer than to write a row. */
const maxCachedGroups = 1_000

/** Records of one kind become rows here, of a table and of those of its groups. Nothing of them is held but keys. */
export class RecordTables implements Disposable {
  readonly root: TableSpool
  readonly shape: RecordShape
  readonly #groups = new Map<string, TableSpool>()
  readonly #ways = new Map<string, TableSpool>()
  readonly #keys = new SeenKeys()
  readonly #directory: string
  readonly #limit: number
  /** Records so far, bad ones among them. */
  records = 0

  /** Spools of so many bytes at most are made in `directory`. */
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

  /** Adds a record whose key was not there before; says what it is. Throws `BadRecord`. */
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

  /** The columns by which the rows of a group hang together; ids of records are what they are in the records. */
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

/** The value at a path, whose parts are between points unless a field is called like the whole. */
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

/** NEW: the key was not there. SAME: it was, with the same content. OTHER: it was, with other content. */
type KeyComparison = 'NEW' | 'SAME' | 'OTHER'

/** Keys that are remembered at once, in two halves: the older half is forgotten when the newer is full. */
const mostInHalf = 250_000
/** Characters of a key that is remembered as it is; of a longer one its hash is. */
const mostAsItIs = 64

/**
 * Whether a key was there before. Lists that are read page by page shift while they are read, so that a record comes twice within some
 * pages; what comes twice further apart than half a million keys is left to the warehouse, which refuses it.
 */
export class SeenKeys {
  /** 32 bits of a hash of the content, by key. */
  #newer = new Map<string, number>()
  #older = new Map<string, number>()

  /** True where it is new. */
  add(whole: string): boolean {
    return this.compare(whole, '') === 'NEW'
  }

  /** Remembers the key with its content, and says how it compares with what was there. */
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
