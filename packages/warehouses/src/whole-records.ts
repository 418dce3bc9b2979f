import type { LoadTarget, PartOf, StagedRecords } from './load-target.ts'

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
