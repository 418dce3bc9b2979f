import { hash } from 'node:crypto'
import { closeSync, writeSync } from 'node:fs'
import type { DataType } from '@sluice/contracts'
import { diskProblem, openSpool } from '@sluice/file-formats/spool/spool-file'
import { tooLarge } from '@sluice/file-formats/spool/spool-writer'
import { SourceProblem } from '@sluice/row-stream'
import { isExactNumber } from './exact-json.ts'
import {
  BadRecord,
  type FlattenedRow,
  type FlattenOptions,
  formatFields,
  formatId,
  RecordFlattener,
  type RecordValue,
  TEXT_VALUE,
} from './flatten-record.ts'
import { tableName } from '../table-names.ts'

/** A column that the system or its settings declare. */
export interface KnownColumn {
  /** The path in the record, such as `address.city`. */
  path: string
  label?: string
  dataType?: DataType
  /** True if the column is created even if no record contains it. */
  always?: boolean
  /** The groups that contain the column, outermost first. Absent for columns of the record itself. */
  groups?: readonly string[]
}

export const declareColumns = (dataType: DataType, paths: readonly string[]): KnownColumn[] =>
  paths.map((path) => ({ path, dataType }))

/**
 * Returns the text column for a form question. It belongs to the table of the innermost repeat group, and its path is
 * relative to that group. `isRepeatGroup` receives the first names of the question's path.
 */
export function createQuestionColumn(
  names: readonly string[],
  isRepeatGroup: (names: readonly string[]) => boolean,
  separator: '.' | '/',
): KnownColumn {
  const groups: string[] = []
  let below: string[] = []
  names.forEach((name, index) => {
    below.push(name)
    if (!isRepeatGroup(names.slice(0, index + 1))) return
    groups.push(below.join(separator))
    below = []
  })
  return { path: below.join(separator), dataType: 'TEXT', ...(groups.length > 0 && { groups }) }
}

export interface RecordShape extends FlattenOptions {
  table: string
  /** Paths of the key fields. Empty if records have no key. */
  key: readonly string[]
  columns?: readonly KnownColumn[]
}

const maxTables = 100
/**
 * The maximum number of group tables in the cache by path. Building the table's name for each row would take longer
 * than writing the row.
 */
const maxCachedGroups = 1_000

/**
 * Converts records to rows of their table and of the tables of their groups (lists of objects). Rows are stored on
 * disk; only keys stay in memory.
 */
export class RecordTables implements Disposable {
  readonly rootTable: TableSpool
  readonly shape: RecordShape
  /** The number of records until now, including rejected ones. */
  recordCount = 0
  readonly #groupTables = new Map<string, TableSpool>()
  readonly #tablesByPath = new Map<string, TableSpool>()
  readonly #keys = new SeenKeys()
  readonly #flattener: RecordFlattener
  readonly #directory: string
  readonly #maxBytes: number

  /** Creates the temporary files in `directory`. Each has at most `maxBytes` bytes. */
  constructor(shape: RecordShape, directory: string, maxBytes: number) {
    this.shape = shape
    this.#flattener = new RecordFlattener(shape)
    this.#directory = directory
    this.#maxBytes = maxBytes
    const knownColumns = shape.columns ?? []
    const rootColumns = knownColumns.filter(({ groups }) => groups === undefined)
    this.rootTable = new TableSpool(shape.table, shape.key, rootColumns, directory, maxBytes)
    for (const { groups } of knownColumns) if (groups) this.#findOrCreateGroupTable(groups)
  }

  get allTables(): TableSpool[] {
    return [this.rootTable, ...this.#groupTables.values()]
  }

  /** Adds a record if its key is new. Returns how it compares with earlier records. Throws `BadRecord`. */
  add(record: unknown): KeyComparison {
    this.recordCount += 1
    if (record instanceof BadRecord) throw record
    if (typeof record !== 'object' || record === null || Array.isArray(record))
      throw new BadRecord('is not a JSON object, so it has no fields')
    const { key } = this.shape
    const ids = key.map((path) => readKeyValue(record, path))
    const [id = this.recordCount] = ids
    const rows = this.#flattener.flatten(record, ids.length > 1 ? ids.map(formatId).join('/') : id)
    const texts = rows.map(formatFields)
    const comparison = key.length > 0 ? this.#keys.compare(formatKey(ids), hashTexts(texts)) : 'NEW'
    if (comparison !== 'NEW') return comparison
    rows.forEach((row, index) =>
      (row.groupPath === '' ? this.rootTable : this.#getGroupTable(row)).add(texts[index]!, row.newKinds),
    )
    return comparison
  }

  flush(): void {
    for (const table of this.allTables) table.flush()
  }

  [Symbol.dispose](): void {
    for (const table of this.allTables) table[Symbol.dispose]()
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
    const existing = this.#groupTables.get(name)
    if (existing) return existing
    if (this.#groupTables.size === maxTables)
      throw new SourceProblem(
        'TOO_MANY_TABLES',
        `The records of ${this.shape.table} have more than ${maxTables} groups, and each would become a table. Select less data.`,
      )
    const path = groups.join('\0')
    const knownColumns = (this.shape.columns ?? []).filter((column) => column.groups?.join('\0') === path)
    const columns = [...this.#createLinkColumns(groups.length), ...knownColumns]
    const table = new TableSpool(name, ['_row_id'], columns, this.#directory, this.#maxBytes)
    this.#groupTables.set(name, table)
    return table
  }

  /**
   * Returns the columns that link a group's rows to their parents. A reference to a record has the type of the record's
   * key.
   */
  #createLinkColumns(depth: number): KnownColumn[] {
    const { key } = this.shape
    const dataType = key.length === 1 ? this.rootTable.declaredColumns.get(key[0]!)?.dataType : undefined
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
 * Returns the key value at a path with dots between field names. A field named like the whole path takes precedence.
 * Throws `BadRecord` if the value is missing.
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

/** Comparison with earlier records. NEW: the key is new. SAME: same key and content. OTHER: same key, other content. */
type KeyComparison = 'NEW' | 'SAME' | 'OTHER'

/** The maximum number of keys in each of two maps. When the newer map is full, the older one is discarded. */
const maxKeysPerGeneration = 250_000
/** Maximum characters of a stored key. Longer keys are stored as hashes. */
const maxStoredKeyLength = 64

/**
 * Detects repeated keys with limited memory. A record can occur on two pages that are close together, because records
 * move between pages during a read. A key that repeats after 500,000 other keys is not detected here; the warehouse
 * rejects it.
 */
export class SeenKeys {
  /** 32-bit hashes of the content, by key. */
  #newer = new Map<string, number>()
  #older = new Map<string, number>()

  /** Stores a key. Returns true if it is new. */
  add(key: string): boolean {
    return this.compare(key, 0) === 'NEW'
  }

  /** Stores a key with the hash of its record's content. Returns how it compares with an earlier record. */
  compare(fullKey: string, contentHash: number): KeyComparison {
    const key = fullKey.length > maxStoredKeyLength ? hash('sha256', fullKey, 'base64') : fullKey
    const earlier = this.#newer.get(key) ?? this.#older.get(key)
    if (earlier !== undefined) return earlier === contentHash ? 'SAME' : 'OTHER'
    if (this.#newer.size === maxKeysPerGeneration) [this.#older, this.#newer] = [this.#newer, new Map()]
    this.#newer.set(key, contentHash)
    return 'NEW'
  }
}

/** Returns a 32-bit hash (FNV-1a), which distinguishes versions of one record. */
function hashTexts(texts: readonly string[]): number {
  let hashed = 0x811c9dc5
  for (const text of texts)
    for (let index = 0; index < text.length; index += 1) hashed = Math.imul(hashed ^ text.charCodeAt(index), 0x01000193)
  return hashed | 0
}

/** Joins the parts of a key to one text. A single text is returned unchanged, so that no copy is stored. */
function formatKey(ids: readonly RecordValue[]): string {
  const [id] = ids
  return ids.length === 1 && typeof id === 'string' && !id.startsWith('[') ? id : JSON.stringify(ids)
}

const bufferCharacters = 64 * 1024
const maxColumnsPerTable = 1_600

/** The rows of one table on disk: one line of JSON per row, in an unnamed file. */
export class TableSpool implements Disposable {
  readonly name: string
  readonly key: readonly string[]
  /** Declared columns by path. Records need not contain them. */
  readonly declaredColumns: ReadonlyMap<string, KnownColumn>
  /** Bit flags of each column's values by path, in the order of first occurrence. */
  readonly valueKinds = new Map<string, number>()
  rowCount = 0
  size = 0
  readonly #maxBytes: number
  readonly #directory: string
  #descriptor: number | undefined
  #lines: string[] = []
  #bufferedCharacters = 0

  constructor(
    name: string,
    key: readonly string[],
    knownColumns: readonly KnownColumn[],
    directory: string,
    maxBytes: number,
  ) {
    this.name = name
    this.key = key
    this.declaredColumns = new Map(knownColumns.map((column) => [column.path, column]))
    this.#directory = directory
    this.#maxBytes = maxBytes
  }

  get descriptor(): number {
    return (this.#descriptor ??= openSpool(this.#directory))
  }

  /** Adds a row. `fields` are the fields of a JSON object. */
  add(fields: string, newKinds: FlattenedRow['newKinds']): void {
    const emptyFields = this.rowCount === 0 ? this.#addEmptyColumns() : ''
    for (const { column, kind } of newKinds) {
      this.#addKind(column.path, kind)
      column.kinds |= kind
    }
    this.rowCount += 1
    const separator = emptyFields !== '' && fields !== '' ? ',' : ''
    this.#lines.push('{', emptyFields, separator, fields, '}\n')
    this.#bufferedCharacters += emptyFields.length + fields.length
    if (this.#bufferedCharacters >= bufferCharacters) this.flush()
  }

  flush(): void {
    if (this.#lines.length === 0) return
    const bytes = Buffer.from(this.#lines.join(''))
    this.#lines = []
    this.#bufferedCharacters = 0
    if (this.size + bytes.length > this.#maxBytes) throw tooLarge(this.name, this.#maxBytes)
    try {
      for (let offset = 0; offset < bytes.length; ) {
        const bytesWritten = writeSync(this.descriptor, bytes, offset, bytes.length - offset, this.size)
        offset += bytesWritten
        this.size += bytesWritten
      }
    } catch (error) {
      throw diskProblem(error) ?? error
    }
  }

  /** Returns whether all values of a column are texts. */
  isText(path: string): boolean {
    return this.valueKinds.get(path) === TEXT_VALUE
  }

  [Symbol.dispose](): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor)
    this.#descriptor = undefined
  }

  /** Adds the columns that always exist to the first row. Returns them as fields of a JSON object. */
  #addEmptyColumns(): string {
    const paths = [...this.declaredColumns.values()].filter(({ always }) => always).map(({ path }) => path)
    for (const path of paths) this.#addKind(path, 0)
    return paths.map((path) => `${JSON.stringify(path)}:null`).join()
  }

  #addKind(path: string, kind: number): void {
    const kinds = this.valueKinds.get(path)
    if (kinds === undefined && this.valueKinds.size === maxColumnsPerTable)
      throw new SourceProblem(
        'TOO_MANY_COLUMNS',
        `The records of ${this.name} have more than ${maxColumnsPerTable} different fields, the maximum of a table. Select fewer fields, or load them with several pipelines.`,
      )
    this.valueKinds.set(path, (kinds ?? 0) | kind)
  }
}
