import type { LoadTarget } from './warehouse.ts'

/** The columns of an increment. */
export interface Increment {
  /** The columns that the source or a transformation filled. Undefined: all columns of the staging table. */
  readonly brought?: readonly string[] | undefined
  /** The columns that the source fed since the table was last replaced. */
  readonly fedBefore: readonly string[]
}

/**
 * The columns that an increment replaces. A record is whole, so a column that the source fed before and does not feed now is null. Only
 * columns that the source never fed keep their values: a transformation filled them.
 */
export const replacedColumns = ({ brought, fedBefore }: Increment): string[] | undefined =>
  brought && [...new Set([...brought, ...fedBefore])]

/** The load of the records that the rows of another load of the same run are parts of. */
export const recordsOf = <Load extends { readonly target: LoadTarget }>(
  loads: readonly Load[],
  { partOf, schema }: Pick<LoadTarget, 'partOf' | 'schema'>,
): Load | undefined => {
  if (!partOf) return undefined
  return loads.find(({ target }) => target.table === partOf.table && target.schema === schema)
}

/** The staging table of the records and how parts refer to it. */
export const stagedRecords = (
  load: { readonly stagingTable: string } | undefined,
  partOf: PartOf | undefined,
): StagedRecords | undefined =>
  load && partOf && { staging: load.stagingTable, keys: partOf.keys, column: partOf.column }

/**
 * The rows of one table are parts of the records of another table. A merge removes the parts of each record that it brings, unless they come again.
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
