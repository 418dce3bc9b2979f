import type { SchemaChanges } from '@sluice/contracts'
import type { Column } from '@sluice/row-stream'

export type { Column, ColumnFacts, RowContent, StoredType, TupleChunk } from '@sluice/row-stream'

export interface ShapeRequest {
  /** The policy for changes of columns. Default: EVOLVE. */
  schemaChanges?: SchemaChanges
  rebuild?: boolean
  /**
   * A digest of the query or selection that the load reads; a different digest than the last load's lets the table change its shape.
   */
  definition?: string
  /** True if the source omits columns that no record has a value for. */
  sparse?: boolean
  /** A sentence about parts of the source that were not read, for the user. */
  unread?: string
  /** True if rows of the table stay: the rows are merged into them or added to them. */
  merging?: boolean
  /** True if the load has all columns of the source, like a file. The rows of an increment can lack columns. */
  hasAllColumns?: boolean
}

/** The numbers of rows and bytes that a staging table has after `write`. */
export interface WrittenRows {
  rows: number
  bytes: number
  /** Rows that were removed again, because other rows with their keys take precedence. */
  superseded?: number
}

/** The target of a load, and the attempt that loads it. `run`, `attempt` and `staging` name the staging table. */
export interface LoadTarget {
  schema: string
  table: string
  columns: readonly Column[]
  run: string
  attempt: number
  /** The number of the attempt's staging table for this table, from 1, the default. */
  staging?: number
  shape?: ShapeRequest
  /** Set if each row is a part of a record in another table of the same run. */
  partOf?: PartOf
  /** Set if the rows list the other tables of the run. */
  listsTables?: true
  /** `StagedTable.write` keeps only the rows with the greatest values in these columns, if rows have the same key. */
  precedence?: readonly string[]
  /** The column that marks deleted rows. A merge deletes the rows with the keys that it marks: true, a number other than 0, or a date. */
  deletedColumn?: string
  /** Other tables of the schema that the same run has already staged, and replaces together with this one. */
  otherReplacedTables?: readonly string[]
  /** A dry run: the load is planned and never published, so its schema need not exist. */
  dry?: boolean
}

/**
 * A change of a table by a load. `from` and `to` are the warehouse's own type names, or row counts for ROWS_FELL. TYPE_CHANGED: the new
 * type does not hold all values of the old one. COLUMN_VANISHED: the source no longer has the column; the table keeps it, without values in
 * the new rows. COLUMN_EMPTIED: the column has no value in any of the `rows` rows of the source, and it had values in the last load.
 * COLUMN_DROPPED: the column is removed. PART_NOT_READ: `to` is a sentence of the source about rows that it did not read. VIEWS_RECREATED:
 * `to` names the views over columns with another type.
 */
export interface TableChange {
  kind:
    | 'COLUMN_ADDED'
    | 'COLUMN_VANISHED'
    | 'COLUMN_EMPTIED'
    | 'COLUMN_DROPPED'
    | 'TYPE_WIDENED'
    | 'TYPE_CHANGED'
    | 'SHAPE_REPLACED'
    | 'ROWS_FELL'
    | 'PART_NOT_READ'
    | 'VIEWS_RECREATED'
  /** Empty if the change affects the whole table. */
  column: string
  from?: string
  to?: string
  /** Rows of the source. */
  rows?: number
  /** True if the change gives the run the status WARNING. */
  warning?: true
}

/** The numbers of rows that a load changed in a table in which other rows stay. */
export interface MergedRows {
  added: number
  /** Rows with the same key and at least one other value. */
  changed: number
  removed: number
}

export const noMergedRows: MergedRows = { added: 0, changed: 0, removed: 0 }

/** Returns whether a merge leaves every row as it is. */
export const isUnchanged = ({ added, changed, removed }: MergedRows): boolean => added + changed + removed === 0

/** Further facts about a published table in the ledger. Stored as JSON. */
export interface PublicationDetails {
  /** Rows of the table before the publication. Absent for a new table, and if they are unknown. */
  rowsBefore?: number
  /** Absent if the load replaced all rows, and in warehouses that do not count. */
  merged?: MergedRows
  /** Set if the rows are not data of the source, but list the other tables of the run. */
  listsTables?: true
}

/** One table of a publication. A new table has no `changes` of columns. */
export interface PublishedTable extends PublicationDetails {
  schema: string
  table: string
  rows: number
  bytes: number
  changes: TableChange[]
}

/**
 * Names the profile of the rows that a load published. The ledger has no values of rows, so the profile itself is stored elsewhere. Scope
 * TABLE: the load published all rows of the table. LOAD: it merged its rows into the table.
 */
export interface ProfileReference {
  id: string
  scope: 'TABLE' | 'LOAD'
}

/** Returns the reference in a ledger entry. Older versions stored other data there. */
export function parseProfileReference(entry: unknown): ProfileReference | undefined {
  const { id, scope } = (entry ?? {}) as Partial<ProfileReference>
  return typeof id === 'string' && (scope === 'TABLE' || scope === 'LOAD') ? { id, scope } : undefined
}

/**
 * Returns the profile that a publication enters in the ledger: that of its rows. A merge of no rows keeps the table's profile, because the
 * rows have not changed; but parts of records can be deleted by a merge that brings no new ones. `merge` is undefined if the load replaces the table.
 */
export function profileToPublish(
  { profile, target }: { profile?: string | undefined; target: Pick<LoadTarget, 'partOf'> },
  merge: { rows: number; earlierProfile: unknown } | undefined,
): ProfileReference | undefined {
  if (merge?.rows === 0 && !target.partOf) return parseProfileReference(merge.earlierProfile)
  return profile === undefined ? undefined : { id: profile, scope: merge ? 'LOAD' : 'TABLE' }
}

/** The table of a pipeline to restore, together with the tables of the same publication, and the attempt that restores it. */
export interface RestoreTarget {
  schema: string
  table: string
  run: string
  attempt: number
}

export interface PlannedTable {
  schema: string
  table: string
  /** Absent if the table does not exist yet. */
  rowsBefore?: number
  rowsAfter: number
  changes: TableChange[]
  listsTables?: true
}

/** Returns the tables with data of the source, without the table that lists them. */
export function dataTablesOf<Table extends Pick<PublicationDetails, 'listsTables'>>(tables: readonly Table[]): Table[] {
  const dataTables = tables.filter(({ listsTables }) => !listsTables)
  return dataTables.length > 0 ? dataTables : [...tables]
}

/** The tables that a run published in one transaction. The warehouse's ledger keeps them, so that a retry finds them. */
export interface Publication {
  run: string
  attempt: number
  rows: number
  bytes: number
  publishedAt: Date
  tables: PublishedTable[]
}

/**
 * The rows of one table are parts of the records of another table. A merge replaces the parts of each record in the
 * increment: it removes those that the increment does not contain. If the table is its own table of records, the rows with equal `keys`
 * are one record.
 */
export interface PartOf {
  /** The table of the records, in the same schema. */
  table: string
  /** The columns that identify a record. Their values, joined by `/`, are the record's id. */
  keys: readonly string[]
  /** The column of the parts that holds the id of their record. */
  column: string
}

/** The staging table of the records that rows are parts of. */
export interface StagedRecords extends Pick<PartOf, 'keys' | 'column'> {
  staging: string
}
