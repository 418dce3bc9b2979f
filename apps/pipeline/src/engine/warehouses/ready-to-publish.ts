import { type PublishOptions, type ReadyTable, type LoadTarget, WarehouseProblem } from './warehouse.ts'
import { type Increment, recordsOf, replacedColumns, stagedRecords } from './whole-records.ts'

/** What one load has in its staging table. */
interface StagedLoadState extends Increment {
  readonly target: LoadTarget
  /** As SQL names it. */
  readonly stagingTable: string
  readonly keys: readonly string[]
}

interface ReadinessChecks<Load> {
  merging: boolean
  gate: PublishOptions['gate']
  /** The key of some two rows of the staging table that have the same one; undefined where there are none. */
  findDuplicateKey(load: Load): Promise<string | undefined>
}

/**
 * Before anybody sees the rows of loads, where the server keeps no key unique: there are keys to merge by, no two rows have the same one, and
 * the gate lets them pass. Throws `WarehouseProblem` NO_PRIMARY_KEY or DUPLICATE_KEY, and what the gate throws.
 */
export async function assertReadyToPublish<Load extends StagedLoadState & { readonly place: string }>(
  loads: readonly Load[],
  { merging, gate, findDuplicateKey }: ReadinessChecks<Load>,
  signal: AbortSignal,
): Promise<void> {
  for (const load of loads) {
    if (merging && load.keys.length === 0) throw noKey(load.place)
    const twice = load.keys.length > 0 ? await findDuplicateKey(load) : undefined
    if (twice === undefined) continue
    const sentence = `Two rows of ${load.place} have the same primary key: Key (${load.keys.join(', ')})=(${twice}) is duplicated.`
    throw new WarehouseProblem('DUPLICATE_KEY', sentence)
  }
  await gate?.(
    loads.map((load) => describeReadyTable(load, merging, recordsOf(loads, load.target))),
    signal,
  )
}

/** Describes a load for the gate. */
export function describeReadyTable(
  load: StagedLoadState,
  merging: boolean,
  recordsLoad: Pick<StagedLoadState, 'stagingTable'> | undefined,
): ReadyTable {
  const { target, stagingTable, keys } = load
  const { schema, table, partOf } = target
  const ready = { schema, table, staging: stagingTable }
  if (!merging) return ready
  const records = stagedRecords(recordsLoad, partOf)
  const columns = replacedColumns(load)
  return { ...ready, merge: { keys, ...(columns && { columns }), ...(records && { records }) } }
}

export const noKey = (place: string) =>
  new WarehouseProblem(
    'NO_PRIMARY_KEY',
    `Rows can be merged into ${place} only by a primary key, and the source names none. Mark the columns that identify a row, or let the pipeline replace the table.`,
  )
