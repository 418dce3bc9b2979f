import type { DataType } from '@sluice/contracts'
import type { ProfileReference } from './load-target.ts'

/** Creates, lists and drops schemas and tables of a warehouse, as role `load`. */
export interface Catalog {
  listSchemas(): Promise<string[]>
  ensureSchema(schema: string): Promise<void>
  /** Throws SCHEMA_NOT_EMPTY while the schema contains tables. */
  dropSchema(schema: string): Promise<void>
  /** Lists the tables and views in these schemas, sorted by name. Omits the service's hidden tables, partitions and foreign tables. */
  listRelations(schemas: readonly string[]): Promise<TablePlace[]>
  findTable(schema: string, table: string): Promise<WarehouseTable | undefined>
  /** Returns the existing tables among these places, with their columns. */
  findTables(places: readonly TablePlace[]): Promise<WarehouseTable[]>
  /**
   * Returns the names of columns of these tables that begin with `prefix`, in any case, sorted by their bytes: at most `limit`. Reads
   * no statistics, so it is fast for very many columns.
   */
  findColumnNames(places: readonly TablePlace[], prefix: string, limit: number): Promise<ColumnNameMatch[]>
  /** Returns the newest staging table for this table, even of a failed run. `counted` counts the rows instead of estimating them. */
  findStagingTable(schema: string, table: string, options?: { counted?: boolean }): Promise<StagingTable | undefined>
  dropTable(schema: string, table: string): Promise<void>
}

export interface TablePlace {
  schema: string
  name: string
}

/** A name that columns of one or more tables have. Schema, table and type are those of one of them. */
export interface ColumnNameMatch {
  column: string
  schema: string
  table: string
  dataType: DataType
  /** The number of tables that have such a column. */
  tables: number
}

/** Combines matches of one name, with the first table by schema and name, and returns the first `limit` names. */
export function combineMatches(matches: readonly ColumnNameMatch[], limit: number): ColumnNameMatch[] {
  const byColumn = new Map<string, ColumnNameMatch>()
  const placeKey = ({ schema, table }: ColumnNameMatch) => JSON.stringify([schema, table])
  for (const match of matches.toSorted((one, other) => (placeKey(one) < placeKey(other) ? -1 : 1))) {
    const earlier = byColumn.get(match.column)
    if (!earlier) byColumn.set(match.column, { ...match })
    else earlier.tables += match.tables
  }
  return [...byColumn.values()].toSorted((one, other) => (one.column < other.column ? -1 : 1)).slice(0, limit)
}

export interface WarehouseColumn {
  name: string
  label: string
  dataType: DataType
  length?: number
  precision?: number
  scale?: number
  primaryKey: boolean
  /** True if an earlier load filled the column and the last load did not contain it. */
  deleted?: boolean
  /** The time at which a load first created it, as ISO 8601. */
  created?: string
  /** The form in which the source prints all values, such as `DD.MM.YYYY`. Absent if they have several forms. */
  printedForm?: string
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
  /** Bytes on disk, indexes included. */
  size: number
  foreignKeys: ForeignKey[]
  /** The profile of the last load, if it has one. */
  profile?: ProfileReference
}

/** The staged rows of a load. `run` is the run that loaded them. */
export interface StagingTable extends WarehouseTable {
  run: string
}
