import type { PartOf, StagedRecords } from './part-of.ts'
import type { LoadTarget } from './warehouse.ts'

interface Merged {
  readonly target: Pick<LoadTarget, 'columns'>
  /** Whether a transformation has changed what the source gave. */
  readonly transformed: boolean
}

/**
 * The columns that an increment replaces. A record is whole, so a column that the source brought before and does not bring now is null. Only
 * columns that the source never brought keep their values: a transformation filled them.
 */
export function broughtColumns(
  { transformed, target }: Merged,
  staged: readonly string[],
  fedBefore: readonly string[],
): string[] {
  if (transformed) return [...staged]
  const fed = new Set([...fedBefore, ...target.columns.map(({ name }) => name)])
  return staged.filter((name) => fed.has(name))
}

/** The columns that the source has brought since the table was last replaced. */
export const fedSoFar = ({ columns }: Pick<LoadTarget, 'columns'>, fedBefore: readonly string[]): string[] => [
  ...new Set([...columns.map(({ name }) => name), ...fedBefore]),
]

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
