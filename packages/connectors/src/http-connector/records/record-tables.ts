import { SourceProblem } from '@sluice/row-stream'
import { createTableName } from '../../table-and-column-names.ts'
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

  /** True if a table has rows but no file yet. */
  get needsFiles(): boolean {
    return this.#needsFiles
  }

  /** Creates the files of tables with rows. */
  async openFiles(): Promise<void> {
    for (const table of this.#allTables) if (table.needsFile) await table.openFile(this.#directory)
    this.#needsFiles = false
  }

  /**
   * Adds a record if its key is new. Returns the comparison with earlier records. Throws `BadRecord` if the record
   * cannot be converted to rows.
   */
  add(record: unknown): KeyComparison {
    this.recordCount += 1
    if (record instanceof BadRecord) throw record
    if (typeof record !== 'object' || record === null || Array.isArray(record))
      throw new BadRecord('is not a JSON object, so it has no fields')
    const { key } = this.shape
    const keyValues = key.map((path) => readKeyValue(record, path))
    const rows = this.#flattener.flatten(record, this.#createRecordId(keyValues))
    const { bytes } = this.#flattener
    if (key.length > 0) {
      const contentHash = hashBytes(bytes, rows[0]!.from, rows.at(-1)!.to)
      const comparison = this.#keys.compare(formatKey(keyValues), contentHash)
      if (comparison !== 'NEW') return comparison
    }
    for (const row of rows) {
      const table = row.groupPath === '' ? this.rootTable : this.#getGroupTable(row)
      table.add(bytes, row)
      if (table.needsFile) this.#needsFiles = true
    }
    return 'NEW'
  }

  /** Returns the id of the current record: its key, or its position if records have no key. */
  #createRecordId(keyValues: readonly RecordValue[]): RecordValue {
    if (keyValues.length > 1) return keyValues.map(formatId).join('/')
    return keyValues[0] ?? this.recordCount
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
    const name = createTableName(this.shape.table, groups)
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
    const keyType = key.length === 1 ? this.rootTable.spooled.declaredColumns.get(key[0]!)?.dataType : undefined
    const recordReferenceType = keyType && { dataType: keyType }
    const isParentRecord = depth === 1
    return [
      { path: '_row_id', dataType: 'TEXT' },
      { path: '_parent_row_id', ...(isParentRecord ? recordReferenceType : { dataType: 'TEXT' }) },
      { path: '_root_row_id', ...recordReferenceType },
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
  const value = path in fields ? fields[path] : findNestedValue(record, path)
  const isText = typeof value === 'string' && value !== ''
  const isLongNumber = typeof value === 'object' && value !== null && isExactNumber(value)
  if (isText || isLongNumber || typeof value === 'number') return value
  throw new BadRecord(`has no value in "${path}", which is a part of its key`, path)
}

function findNestedValue(record: object, path: string): unknown {
  let value: unknown = record
  for (const name of path.split('.')) value = (value as Record<string, unknown> | undefined)?.[name]
  return value
}

const fnvOffsetBasis = 0x811c9dc5
const fnvPrime = 0x01000193

/** Returns a hash of 32 bits (FNV-1a). It distinguishes versions of one record. */
function hashBytes(bytes: Uint8Array, from: number, to: number): number {
  let hash = fnvOffsetBasis
  for (let index = from; index < to; index += 1) hash = Math.imul(hash ^ bytes[index]!, fnvPrime)
  return hash | 0
}

/**
 * Returns a key as one value. A single text or number stays unchanged, so that no copy is stored. Other keys become a
 * JSON list. A text that starts with a bracket does too, because it could equal such a list.
 */
function formatKey(keyValues: readonly RecordValue[]): string | number {
  const [value] = keyValues
  const isUnambiguousText = typeof value === 'string' && !value.startsWith('[')
  const isSimple = typeof value === 'number' || isUnambiguousText
  return keyValues.length === 1 && isSimple ? value : JSON.stringify(keyValues)
}
