import type { TablePlace, WarehouseColumn, WarehouseTable } from '../catalog.ts'
import { parseProfileReference } from '../load-target.ts'
import { historyOf } from '../shape/remembered-feed.ts'
import type { ClientAccess } from './clickhouse-settings.ts'
import { type ServerAccess, rowsOf } from './protocol/http.ts'
import { findLedgerEntry } from './ledger.ts'
import { databaseOf, formatLiteral, quoteIdentifier, schemaPrefix, shownPrefix } from './names.ts'
import { describeType, withoutWrappers } from './types.ts'
import type { DataType } from '@sluice/contracts'

/** The metadata in a table's comment. It moves with the rows, so it stays true under any table name. */
export interface TableMark {
  /** For a loaded table: the id of the load that wrote its rows. */
  load?: string
  run?: string
  attempt?: number
  schema?: string
  table?: string
  /** Columns that the server stores as String and the warehouse reports as a narrower type. */
  texts?: Record<string, DataType>
  view?: ViewMark
}

export interface ViewMark {
  id: string
  definition: string
  materialized: boolean
  populated: boolean
  /** Direct dependencies, `[schema, name]` each. */
  reads: [schema: string, name: string][]
  at: [schema: string, name: string]
  /** The query in the server's form, with every table name qualified by its database. */
  query: string
}

export interface ShapeColumn {
  name: string
  label: string
  /** The type, unwrapped from `Nullable(…)`. */
  type: string
  nullable: boolean
  primaryKey: boolean
  dataType: DataType
}

/** A table or view as the server's catalogue describes it. */
export interface ClickHouseShape {
  database: string
  name: string
  uuid: string
  engine: string
  mark: TableMark | undefined
  columns: ShapeColumn[]
  /** Columns that the server computes when it reads or merges rows; `columns` excludes them. */
  computed: string[]
  rows: number
  bytes: number
}

interface TableRow {
  database: string
  name: string
  uuid: string
  engine: string
  comment: string
  rows: number | null
  bytes: number | null
}

interface ColumnRow {
  name: string
  type: string
  comment: string
  key: number
  kind: string
  value: string
}

export const tableColumns =
  'database, name, toString(uuid) as uuid, engine, comment, total_rows as rows, total_bytes as bytes'

/** Reads a table or view from the server's catalogue; undefined if it does not exist. */
export async function readShape(
  access: ServerAccess,
  database: string,
  name: string,
): Promise<ClickHouseShape | undefined> {
  const parameters = { database, name }
  const where = 'database = {database:String}'
  const [table] = await rowsOf<TableRow>(
    access,
    `select ${tableColumns} from system.tables where ${where} and name = {name:String}`,
    { parameters },
  )
  if (!table) return undefined
  const columns = await rowsOf<ColumnRow>(
    access,
    `select name, type, comment, is_in_primary_key as key, default_kind as kind, default_expression as value
     from system.columns
     where ${where} and table = {name:String} order by position`,
    { parameters },
  )
  const mark = markIn(table.comment)
  const stored = columns.filter((column) => isStored(column))
  return {
    database,
    name,
    uuid: table.uuid,
    engine: table.engine,
    mark,
    columns: stored.map(({ name: column, type, comment, key }) => ({
      name: column,
      label: comment || column,
      type: withoutWrappers(type),
      nullable: type !== withoutWrappers(type),
      primaryKey: key === 1,
      dataType: mark?.texts?.[column] ?? describeType(type).dataType,
    })),
    computed: columns.filter((column) => !isStored(column)).map(({ name: column }) => column),
    rows: table.rows ?? 0,
    bytes: table.bytes ?? 0,
  }
}

/** Allows only literals. An expression may name any table of the server, and the server checks no privileges when it merges parts. */
const plainValue = /^(?:NULL|true|false|-?\d+(?:\.\d+)?|'(?:[^'\\]|\\.)*')$/s

const isStored = ({ kind, value }: ColumnRow): boolean => kind === '' || (kind === 'DEFAULT' && plainValue.test(value))

/** Returns whether the table stores its own rows: it is not a view and does not read from another place. */
export const hasRows = ({ engine }: Pick<ClickHouseShape, 'engine'>): boolean => engine.endsWith('MergeTree')

/** Returns undefined for any other comment: users may write comments too. */
export function markIn(comment: string): TableMark | undefined {
  try {
    const mark: unknown = JSON.parse(comment)
    return typeof mark === 'object' && mark !== null && ('load' in mark || 'view' in mark)
      ? (mark as TableMark)
      : undefined
  } catch {
    return undefined
  }
}

export const describeColumn = ({ name, label, type, primaryKey, dataType }: ShapeColumn): WarehouseColumn => ({
  name,
  label,
  ...describeType(type),
  dataType,
  primaryKey,
  // Tables are created with their primary key as the order of their rows.
  ...(primaryKey && { sortKey: true }),
})

/** Describes the table. The row count comes from the server. */
export async function describeTable(
  access: ClientAccess,
  schema: string,
  shape: ClickHouseShape,
): Promise<WarehouseTable> {
  const entry = await findLedgerEntry(access, shape.mark?.load)
  const profile = parseProfileReference(entry?.profile)
  const history = historyOf(entry?.feed)
  const columns = shape.columns.map((column) => ({
    ...describeColumn(column),
    ...history(column.name),
  }))
  return {
    schema,
    name: shape.name,
    columns,
    rowCount: shape.rows,
    size: shape.bytes,
    foreignKeys: [],
    ...(profile && { profile }),
  }
}

export async function listSchemas({ key, service }: ClientAccess): Promise<string[]> {
  const prefix = schemaPrefix(key)
  const rows = await rowsOf<{ name: string }>(
    service,
    'select name from system.databases where startsWith(name, {prefix:String}) order by name',
    { parameters: { prefix } },
  )
  return rows.map(({ name }) => name.slice(prefix.length))
}

/** Lists relations, sorted by the bytes of the schema and then by the bytes of the name. */
export async function listRelations({ key, service }: ClientAccess, schemas: readonly string[]): Promise<TablePlace[]> {
  if (schemas.length === 0) return []
  const schemaByDatabase = new Map(schemas.map((schema) => [databaseOf({ key, schema }), schema]))
  const rows = await rowsOf<{ database: string; name: string }>(
    service,
    `select database, name from system.tables
     where startsWith(database, {prefix:String}) or startsWith(database, {shown:String}) order by database, name`,
    { parameters: { prefix: schemaPrefix(key), shown: shownPrefix(key) } },
  )
  return rows.flatMap(({ database, name }) => {
    const schema = schemaByDatabase.get(database)
    return schema === undefined ? [] : [{ schema, name }]
  })
}

export interface StagingColumn {
  name: string
  label: string
  type: string
  dataType: DataType
  primaryKey: boolean
}

/** Returns a planned column in the form that a staging table has. */
export const stagingColumn = ({ name, label, type, dataType, primaryKey }: StagingColumn): StagingColumn => ({
  name,
  label,
  type,
  dataType,
  primaryKey,
})

/** Returns a column of the published table as a column without values, for a load that does not have it. */
export const emptyColumn = (column: StagingColumn): StagingColumn => ({ ...stagingColumn(column), primaryKey: false })

/** Returns the columns that are stored as text and have another data type. */
export function textColumnsOf(columns: readonly StagingColumn[]): Record<string, DataType> {
  const narrowerColumns = columns.filter(({ type, dataType }) => type === 'String' && dataType !== 'TEXT')
  return Object.fromEntries(narrowerColumns.map(({ name, dataType }) => [name, dataType]))
}

/**
 * Returns the statement that creates a table. Rows are in the order of the primary key, or in insertion order without a key. The
 * server acknowledges rows only after it has written them to disk.
 */
export function createTable(qualifiedName: string, columns: readonly StagingColumn[], mark: TableMark): string {
  const definitions = columns.map(columnText).join(', ')
  const keys = columns.filter(({ primaryKey }) => primaryKey).map(({ name }) => quoteIdentifier(name))
  return `create table ${qualifiedName} (${definitions}) engine = MergeTree order by (${keys.join(', ') || 'tuple()'})
    settings fsync_after_insert = 1, fsync_part_directory = 1 comment ${formatLiteral(JSON.stringify(mark))}`
}

/** Returns the definition of a column. The label is its comment, if it differs from the name. */
export function columnText({ name, label, type, primaryKey }: StagingColumn): string {
  const comment = label === name ? '' : ` comment ${formatLiteral(label.replaceAll('\0', ''))}`
  return `${quoteIdentifier(name)} ${primaryKey ? type : `Nullable(${type})`}${comment}`
}
