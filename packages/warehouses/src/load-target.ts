import type { SchemaChanges } from '@sluice/contracts'
import type { Column } from '@sluice/row-stream'

export type { Column, ColumnFacts, RowContent, StoredType, TupleChunk } from '@sluice/row-stream'

export interface ShapeRequest {
  /** The policy for column changes. Default: EVOLVE. */
  schemaChanges?: SchemaChanges
  rebuild?: boolean
  /**
   * A digest of the query or selection that the load reads. If it differs from the last load's digest, the table may
   * change its shape.
   */
  definition?: string
  /** True if the source omits a column when no record has a value for it. */
  sparse?: boolean
  /** A sentence for the user about rows of the source that were not read, such as further sheets of a workbook. */
  unread?: string
  /** True if existing rows stay: the load merges its rows into the table or appends them. */
  merging?: boolean
  /** True if the load has all columns of the source, as a file does. An increment can lack columns. */
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
  /** The number of this staging table within the attempt, from 1 (default). A repeated staging has a higher number. */
  staging?: number
  shape?: ShapeRequest
  /** Set if the rows are child rows of records in another table of the same run. */
  parentRecords?: ParentRecords
  /** Set if the rows list the other tables of the run. */
  listsTables?: true
  /** `StagedTable.write` keeps only the rows with the greatest values in these columns, if rows have the same key. */
  precedence?: readonly string[]
  /**
   * The column that marks deleted rows. A merge deletes the rows with the keys that it marks: true, a number other than
   * 0, or a date.
   */
  deletedColumn?: string
  /** Other tables of the schema that the same run has staged and replaces together with this one. */
  otherReplacedTables?: readonly string[]
  /** True for a dry run: the load is planned and never published, so its schema need not exist. */
  dry?: boolean
}

/**
 * One change of a table by a load. `from` and `to` are names of types, or row counts for ROWS_FELL.
 *
 * - TYPE_CHANGED: the new type cannot store all values of the old one.
 * - COLUMN_VANISHED: the source no longer has the column. The table keeps it, without values in the new rows.
 * - COLUMN_EMPTIED: the column had values in the last load and has none in any of the `rows` source rows.
 * - COLUMN_DROPPED: the column is removed.
 * - PART_NOT_READ: `to` is a sentence from the source about rows that it did not read.
 * - VIEWS_RECREATED: `to` names the views that read columns with a changed type.
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
  /** The number of source rows. */
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
 * A reference to the column profile of the published rows. The ledger (Sluice's table of loads) contains no row values,
 * so the profile is stored elsewhere. Scope TABLE: the profile covers all rows of the table. Scope LOAD: it covers only
 * the rows that the load merged.
 */
export interface ProfileReference {
  id: string
  scope: 'TABLE' | 'LOAD'
}

/** Parses the profile reference of a ledger entry. Older versions stored data of another shape in the field. */
export function parseProfileReference(entry: unknown): ProfileReference | undefined {
  const { id, scope } = (entry ?? {}) as Partial<ProfileReference>
  return typeof id === 'string' && (scope === 'TABLE' || scope === 'LOAD') ? { id, scope } : undefined
}

/**
 * Returns the profile reference for the ledger. `merge` is undefined if the load replaces the table. Normally this is
 * the load's profile. A merge without rows keeps the table's earlier profile, because no row changed. This does not
 * apply to a table of child rows, because a merge without rows can delete child rows of the merged parent records.
 */
export function profileToPublish(
  { profile, target }: { profile?: string | undefined; target: Pick<LoadTarget, 'parentRecords'> },
  merge: { rows: number; earlierProfile: unknown } | undefined,
): ProfileReference | undefined {
  const changesNoRow = merge?.rows === 0 && !target.parentRecords
  if (changesNoRow) return parseProfileReference(merge.earlierProfile)
  return profile === undefined ? undefined : { id: profile, scope: merge ? 'LOAD' : 'TABLE' }
}

/** A table to restore, together with the other tables of its last publication, and the attempt that restores it. */
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

/**
 * Returns the tables with data of the source, without the table that lists them. If no other table exists, returns
 * the table that lists them.
 */
export function dataTablesOf<Table extends Pick<PublicationDetails, 'listsTables'>>(tables: readonly Table[]): Table[] {
  const dataTables = tables.filter(({ listsTables }) => !listsTables)
  return dataTables.length > 0 ? dataTables : [...tables]
}

/** The tables that a run published in one transaction. The ledger stores them, so that a retry can return them. */
export interface Publication {
  run: string
  attempt: number
  rows: number
  bytes: number
  publishedAt: Date
  tables: PublishedTable[]
}

/**
 * The parent records of child rows. For example, each row of a table of household members is a child row of a record in
 * the table of households. A merge replaces all child rows of each parent record in the increment, so child rows that
 * the increment lacks are removed. If `table` is the table of the child rows itself, rows with equal `keys` belong
 * together, such as the rows of one file.
 */
export interface ParentRecords {
  /** The table with the parent records, in the same schema. */
  table: string
  /** The columns that identify a parent record. Its id consists of their values joined by `/`. */
  keys: readonly string[]
  /** The column of the child table that contains the id of the parent record. */
  column: string
}

/** The staging table with the parent records of staged child rows. */
export interface StagedParents extends Pick<ParentRecords, 'keys' | 'column'> {
  staging: string
}
