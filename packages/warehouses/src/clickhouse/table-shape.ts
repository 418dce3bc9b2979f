import type { TablePlace, WarehouseColumn, WarehouseTable } from '../catalog.ts'
import { parseProfileReference } from '../load-target.ts'
import { createColumnHistory } from '../shape/previous-source-columns.ts'
import type { ClientAccess } from './clickhouse-settings.ts'
import { type ServerAccess, rowsOf } from './protocol/http-client.ts'
import { findLedgerEntry } from './publication-ledger.ts'
import { databaseOf, formatLiteral, quoteIdentifier, schemaPrefix, shownPrefix } from './sql-identifiers.ts'
import { describeType, withoutWrappers } from './column-types.ts'
import type { DataType } from '@sluice/contracts'

/**
 * Sluice's metadata in the comment of a table. A rename keeps the comment, so it describes the rows under every table
 * name.
 */
export interface TableMetadata {
  /** For a loaded table: the id of the load that wrote its rows. */
  load?: string
  run?: string
  attempt?: number
  schema?: string
  table?: string
  /** Columns that ClickHouse stores as String and that Sluice reports as another data type. */
  texts?: Record<string, DataType>
  view?: ViewMetadata
}

export interface ViewMetadata {
  id: string
  definition: string
  materialized: boolean
  populated: boolean
  /** Tables and views that the view reads directly. */
  reads: [schema: string, name: string][]
  at: [schema: string, name: string]
  /** The view's query as the server receives it, with every table name qualified by its database. */
  query: string
}

export interface ShapeColumn {
  name: string
  label: string
  /** The column's type without its `Nullable(…)` wrapper. */
  type: string
  nullable: boolean
  primaryKey: boolean
  dataType: DataType
}

/** The structure of a table or view, read from the server's catalogue. */
export interface ClickHouseShape {
  database: string
  name: string
  uuid: string
  engine: string
  metadata: TableMetadata | undefined
  columns: ShapeColumn[]
  /** Columns that the server computes when it reads or merges rows. `columns` does not include them. */
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

/**
 * Reads the structure of a table or view from the server's catalogue. Returns undefined if it does not exist. Columns
 * that the server computes from an expression are only listed by name, in `computed`.
 */
export async function readShape(
  access: ServerAccess,
  database: string,
  name: string,
): Promise<ClickHouseShape | undefined> {
  const parameters = { database, name }
  const [table] = await rowsOf<TableRow>(
    access,
    `select ${tableColumns} from system.tables where database = {database:String} and name = {name:String}`,
    { parameters },
  )
  if (!table) return undefined
  const columns = await rowsOf<ColumnRow>(
    access,
    `select name, type, comment, is_in_primary_key as key, default_kind as kind, default_expression as value
     from system.columns
     where database = {database:String} and table = {name:String} order by position`,
    { parameters },
  )
  const metadata = parseTableMetadata(table.comment)
  const storedColumns = columns.filter(isStored)
  const computedColumns = columns.filter((column) => !isStored(column))
  return {
    database,
    name,
    uuid: table.uuid,
    engine: table.engine,
    metadata,
    columns: storedColumns.map((column) => toShapeColumn(column, metadata)),
    computed: computedColumns.map((column) => column.name),
    rows: table.rows ?? 0,
    bytes: table.bytes ?? 0,
  }
}

function toShapeColumn({ name, type, comment, key }: ColumnRow, metadata: TableMetadata | undefined): ShapeColumn {
  const innerType = withoutWrappers(type)
  return {
    name,
    label: comment || name,
    type: innerType,
    nullable: type !== innerType,
    primaryKey: key === 1,
    // ClickHouse has one type for all texts, so the metadata in the table's comment has the exact data type.
    dataType: metadata?.texts?.[name] ?? describeType(type).dataType,
  }
}

/**
 * Matches the default values that Sluice accepts: literals only. An expression could read any table of the server,
 * because ClickHouse checks no privileges when it merges its files in the background.
 */
const literalPattern = /^(?:NULL|true|false|-?\d+(?:\.\d+)?|'(?:[^'\\]|\\.)*')$/s

/** True if the column has no default value, or a literal. Columns with other defaults count as computed. */
const isStored = ({ kind, value }: ColumnRow): boolean =>
  kind === '' || (kind === 'DEFAULT' && literalPattern.test(value))

/** True if the table stores its own rows, so it is neither a view nor a proxy for data elsewhere. */
export const hasRows = ({ engine }: Pick<ClickHouseShape, 'engine'>): boolean => engine.endsWith('MergeTree')

/** Parses Sluice's metadata from a table's comment. Returns undefined for a comment that a user wrote. */
export function parseTableMetadata(comment: string): TableMetadata | undefined {
  try {
    const metadata: unknown = JSON.parse(comment)
    if (typeof metadata !== 'object' || metadata === null) return undefined
    const isOwnMetadata = 'load' in metadata || 'view' in metadata
    return isOwnMetadata ? (metadata as TableMetadata) : undefined
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
  // Sluice creates tables with the primary key as the sort order of their rows.
  ...(primaryKey && { sortKey: true }),
})

/** Describes a table for the API, with its row count and size from the server. */
export async function describeTable(
  access: ClientAccess,
  schema: string,
  shape: ClickHouseShape,
): Promise<WarehouseTable> {
  const entry = await findLedgerEntry(access, shape.metadata?.load)
  const profile = parseProfileReference(entry?.profile)
  const findColumnHistory = createColumnHistory(entry?.feed)
  const columns = shape.columns.map((column) => ({
    ...describeColumn(column),
    ...findColumnHistory(column.name),
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

/** Lists the organisation's schemas, sorted by name. */
export async function listSchemas({ key, service }: ClientAccess): Promise<string[]> {
  const prefix = schemaPrefix(key)
  const rows = await rowsOf<{ name: string }>(
    service,
    'select name from system.databases where startsWith(name, {prefix:String}) order by name',
    { parameters: { prefix } },
  )
  return rows.map(({ name }) => name.slice(prefix.length))
}

/** Lists the tables and views of these schemas, sorted by schema and name, both compared as bytes. */
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

/** Reduces a planned column to the fields of a staging table's column. */
export const stagingColumn = ({ name, label, type, dataType, primaryKey }: StagingColumn): StagingColumn => ({
  name,
  label,
  type,
  dataType,
  primaryKey,
})

/** Converts a column of the published table to a staging column without values, for a load that lacks the column. */
export const emptyColumn = (column: StagingColumn): StagingColumn => ({ ...stagingColumn(column), primaryKey: false })

/** Returns the columns that are stored as String but have a data type other than TEXT. */
export function textColumnsOf(columns: readonly StagingColumn[]): Record<string, DataType> {
  const narrowerColumns = columns.filter(({ type, dataType }) => type === 'String' && dataType !== 'TEXT')
  return Object.fromEntries(narrowerColumns.map(({ name, dataType }) => [name, dataType]))
}

/**
 * Returns the CREATE TABLE statement. Rows are sorted by the primary key, or stay in insertion order without one. The
 * server acknowledges rows only after writing them to disk.
 */
export function createTable(qualifiedName: string, columns: readonly StagingColumn[], metadata: TableMetadata): string {
  const definitions = columns.map(columnText).join(', ')
  const keys = columns.filter(({ primaryKey }) => primaryKey).map(({ name }) => quoteIdentifier(name))
  return `create table ${qualifiedName} (${definitions}) engine = MergeTree order by (${keys.join(', ') || 'tuple()'})
    settings fsync_after_insert = 1, fsync_part_directory = 1 comment ${formatLiteral(JSON.stringify(metadata))}`
}

/** Settings with which ALTER TABLE returns only when the server, with all replicas, has changed the table. */
export const waitForAlter = { alter_sync: 2, mutations_sync: 2 }

/** Returns the SQL definition of a column. If the label differs from the name, the label is the column's comment. */
export function columnText({ name, label, type, primaryKey }: StagingColumn): string {
  const comment = label === name ? '' : ` comment ${formatLiteral(label.replaceAll('\0', ''))}`
  return `${quoteIdentifier(name)} ${primaryKey ? type : `Nullable(${type})`}${comment}`
}
