import { SourceProblem } from '@sluice/row-stream'
import { tableName } from '../../table-names.ts'
import { isExactNumber } from '../exact-json.ts'
import {
  BadRecord,
  type FlattenedRow,
  type FlattenOptions,
  formatId,
  RecordFlattener,
  type RecordValue,
} from './flatten-record.ts'
import type { KnownColumn } from '../declared-column.ts'
import { type KeyComparison, SeenKeys } from './seen-keys.ts'
import { closeTable, type SpooledTable, TableSpool } from './table-spool.ts'

export interface RecordShape extends FlattenOptions {
  table: string
  /** Paths of the fields that form the key; empty without a key. */
  key: readonly string[]
  columns?: readonly KnownColumn[]
}

const maxTables = 100
/**
 * Maximum number of group tables in the cache by path. Without the cache, building the table's name would take longer
 * than writing a row.
 */
const maxCachedGroups = 1_000

/**
 * Converts records to rows of their table and of the tables of their groups. Rows are spooled to disk; only keys stay
 * in memory.
 */
export class RecordTables implements AsyncDisposable {
  readonly rootTable: TableSpool
  readonly shape: RecordShape
  /** Number of records so far, including rejected ones. */
  recordCount = 0
  #needsFiles = false
  readonly #groupTables = new Map<string, TableSpool>()
  readonly #tablesByPath = new Map<string, TableSpool>()
  readonly #keys = new SeenKeys()
  readonly #flattener: RecordFlattener
  readonly #directory: string
  readonly #maxBytes: number

  /** Creates spool files in `directory`, each of at most `maxBytes` bytes. */
  constructor(shape: RecordShape, directory: string, maxBytes: number) {
    this.shape = shape
    this.#flattener = new RecordFlattener(shape)
    this.#directory = directory
    this.#maxBytes = maxBytes
    const knownColumns = shape.columns ?? []
    const rootColumns = knownColumns.filter(({ groups }) => groups === undefined)
    this.rootTable = new TableSpool(shape.table, shape.key, rootColumns, maxBytes)
    for (const { groups } of knownColumns) if (groups) this.#findOrCreateGroupTable(groups)
  }

  /** The table of the records, then those of their groups. */
  get spooledTables(): SpooledTable[] {
    return this.#allTables.map(({ spooled }) => spooled)
  }

  get #allTables(): TableSpool[] {
    return [this.rootTable, ...this.#groupTables.values()]
  }

  /** Whether a table has rows but no file yet. */
  get needsFiles(): boolean {
    return this.#needsFiles
  }

  /** Creates the files of tables with rows. */
  async openFiles(): Promise<void> {
    for (const table of this.#allTables) if (table.needsFile) await table.openFile(this.#directory)
    this.#needsFiles = false
  }

  /** Adds a record if its key is new. Returns the comparison with earlier records. Throws `BadRecord`. */
  add(record: unknown): KeyComparison {
    this.recordCount += 1
    if (record instanceof BadRecord) throw record
    if (typeof record !== 'object' || record === null || Array.isArray(record))
      throw new BadRecord('is not a JSON object, so it has no fields')
    const { key } = this.shape
    const ids = key.map((path) => readKeyValue(record, path))
    const [id = this.recordCount] = ids
    const rows = this.#flattener.flatten(record, ids.length > 1 ? ids.map(formatId).join('/') : id)
    const { bytes } = this.#flattener
    const comparison =
      key.length > 0 ? this.#keys.compare(formatKey(ids), hashBytes(bytes, rows[0]!.from, rows.at(-1)!.to)) : 'NEW'
    if (comparison !== 'NEW') return comparison
    for (const row of rows) {
      const table = row.groupPath === '' ? this.rootTable : this.#getGroupTable(row)
      table.add(bytes, row)
      if (table.needsFile) this.#needsFiles = true
    }
    return comparison
  }

  flush(): void {
    for (const table of this.#allTables) table.flush()
  }

  /** Closes all files. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const table of this.spooledTables) await closeTable(table)
  }

  #getGroupTable({ groups, groupPath: path }: FlattenedRow): TableSpool {
    const cached = this.#tablesByPath.get(path)
    if (cached) return cached
    if (this.#tablesByPath.size === maxCachedGroups) this.#tablesByPath.clear()
    const table = this.#findOrCreateGroupTable(groups)
    this.#tablesByPath.set(path, table)
    return table
  }

  #findOrCreateGroupTable(groups: readonly string[]): TableSpool {
    const name = tableName(this.shape.table, groups)
    const existingTable = this.#groupTables.get(name)
    if (existingTable) return existingTable
    if (this.#groupTables.size === maxTables)
      throw new SourceProblem(
        'TOO_MANY_TABLES',
        `The records of ${this.shape.table} have more than ${maxTables} groups, and each would become a table. Select less data.`,
      )
    const path = groups.join('\0')
    const knownColumns = (this.shape.columns ?? []).filter((column) => column.groups?.join('\0') === path)
    const columns = [...this.#createLinkColumns(groups.length), ...knownColumns]
    const table = new TableSpool(name, ['_row_id'], columns, this.#maxBytes)
    this.#groupTables.set(name, table)
    return table
  }

  /**
   * Returns the columns that link rows of a group to their parents. References to a record have the type of its key.
   */
  #createLinkColumns(depth: number): KnownColumn[] {
    const { key } = this.shape
    const dataType = key.length === 1 ? this.rootTable.spooled.declaredColumns.get(key[0]!)?.dataType : undefined
    const recordId = dataType && { dataType }
    return [
      { path: '_row_id', dataType: 'TEXT' },
      { path: '_parent_row_id', ...(depth > 1 ? { dataType: 'TEXT' } : recordId) },
      { path: '_root_row_id', ...recordId },
      { path: '_index', dataType: 'INTEGER' },
    ]
  }
}

/**
 * Returns the key value at a path, in which dots separate field names. A field with the whole path as its name takes
 * precedence. Throws `BadRecord` if it is missing.
 */
function readKeyValue(record: object, path: string): RecordValue {
  const fields = record as Record<string, unknown>
  const value =
    path in fields
      ? fields[path]
      : path.split('.').reduce<unknown>((at, part) => (at as Record<string, unknown> | undefined)?.[part], record)
  if ((typeof value === 'string' && value !== '') || typeof value === 'number') return value
  if (typeof value === 'object' && value !== null && isExactNumber(value)) return value
  throw new BadRecord(`has no value in "${path}", which is a part of its key`, path)
}

/** Returns a hash of 32 bits (FNV-1a). It distinguishes versions of one record. */
function hashBytes(bytes: Uint8Array, from: number, to: number): number {
  let hash = 0x811c9dc5
  for (let index = from; index < to; index += 1) hash = Math.imul(hash ^ bytes[index]!, 0x01000193)
  return hash | 0
}

/** Returns a key as one value. A single text or number stays unchanged, so that no copy is stored. */
function formatKey(ids: readonly RecordValue[]): string | number {
  const [id] = ids
  if (ids.length === 1 && (typeof id === 'number' || (typeof id === 'string' && !id.startsWith('[')))) return id
  return JSON.stringify(ids)
}
