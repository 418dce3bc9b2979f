import type { DataType } from '@sluice/contracts'
import type { ProfileReference } from './load-target.ts'

/**
 * Creates, lists and drops the schemas and tables of an organisation's warehouse. Statements run as the database role
 * `load`.
 */
export interface Catalog {
  listSchemas(): Promise<string[]>
  ensureSchema(schema: string): Promise<void>
  /** Throws SCHEMA_NOT_EMPTY while the schema contains tables. */
  dropSchema(schema: string): Promise<void>
  /**
   * Lists the tables and views in these schemas, sorted by name. Leaves out Sluice's hidden tables, partitions and
   * foreign tables.
   */
  listRelations(schemas: readonly string[]): Promise<TablePlace[]>
  findTable(schema: string, table: string): Promise<WarehouseTable | undefined>
  /** Returns those of the named tables that exist, with their columns. */
  findTables(places: readonly TablePlace[]): Promise<WarehouseTable[]>
  /**
   * Finds the columns of these tables with names that start with `prefix`, ignoring case. Returns at most `limit`
   * names, sorted by bytes. Reads no table statistics, so it stays fast with very many columns.
   */
  findColumnNames(places: readonly TablePlace[], prefix: string, limit: number): Promise<ColumnNameMatch[]>
  /**
   * Returns the newest staging table of this table, even if the run failed. With `counted`, the row count is exact
   * instead of an estimate.
   */
  findStagingTable(schema: string, table: string, options?: { counted?: boolean }): Promise<StagingTable | undefined>
  dropTable(schema: string, table: string): Promise<void>
}

export interface TablePlace {
  schema: string
  name: string
}

/** A column name that one or more tables use. `schema`, `table` and `type` describe the first of these tables. */
export interface ColumnNameMatch {
  column: string
  schema: string
  table: string
  dataType: DataType
  /** The number of tables with a column of this name. */
  tables: number
}

/**
 * Returns one match per column name, sorted by column name, at most `limit`. Its number of tables is the sum of the
 * merged numbers. Its schema, table and type are those of the first table in order of schema and name.
 */
export function combineMatches(matches: readonly ColumnNameMatch[], limit: number): ColumnNameMatch[] {
  const tableKey = ({ schema, table }: ColumnNameMatch) => JSON.stringify([schema, table])
  const matchesByColumn = Map.groupBy(matches, ({ column }) => column)
  const columnNames = [...matchesByColumn.keys()].toSorted().slice(0, limit)
  return columnNames.map((columnName) => {
    const sameColumn = matchesByColumn.get(columnName)!
    const firstMatch = sameColumn.toSorted((one, other) => (tableKey(one) < tableKey(other) ? -1 : 1))[0]!
    const tableCount = sameColumn.reduce((sum, { tables }) => sum + tables, 0)
    return { ...firstMatch, tables: tableCount }
  })
}

export interface WarehouseColumn {
  name: string
  label: string
  dataType: DataType
  length?: number
  precision?: number
  scale?: number
  primaryKey: boolean
  /** True if an earlier load filled the column and the last load no longer contained it. */
  deleted?: boolean
  /** The time at which a load first created the column, as ISO 8601. */
  created?: string
  /** The format in which the source prints all values, such as `DD.MM.YYYY`. Absent if they have several formats. */
  sourceFormat?: string
  /** Whether the warehouse stores the rows in the order of this column, alone or with others. */
  sortKey?: boolean
}

export interface ForeignKey {
  column: string
  referencedSchema: string
  referencedTable: string
  referencedColumn: string
}

export interface WarehouseTable {
  schema: string
  name: string
  columns: WarehouseColumn[]
  rowCount: number
  /** Bytes on disk, including indexes. */
  size: number
  foreignKeys: ForeignKey[]
  /** The column profile (statistics) of the last load, if one was made. */
  profile?: ProfileReference
}

/** The table with the staged, not yet published rows of a load. `run` is the id of the run that loaded them. */
export interface StagingTable extends WarehouseTable {
  run: string
}
