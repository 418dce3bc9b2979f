import { LeaseLost, type PublishedTable, type PublishOptions, type TableChange } from '../../warehouse.ts'
import { fedColumns } from '../../shape/feed-memory.ts'
import { fallOfRows } from '../../shape/load-shape.ts'
import type { ManagedView } from '../views/dependent-views.ts'
import type { Dialect, Session } from '../sql-dialect.ts'
import { type Mark, readMarks } from '../ledger.ts'
import { assertTableOwned, type SqlStagedTable } from '../staging/staged-table.ts'
import { type MergedTable, writeMergedTable } from './merge.ts'
import { countRows, findRelation, readShape, type TableShape, withSession } from '../table-shape.ts'
import { planTableAfterLoad, type LoadPlan } from '../staging/plan-table.ts'
import { concurrentlyChanged, viewsDepend } from '../problems.ts'
import { retryOnMissingTable, recoverPending } from '../recovery.ts'
import type { StagingColumn } from '../staging.ts'

/** The result of one load, planned against the existing table. */
export interface PlannedPublication {
  load: SqlStagedTable
  live: TableShape | undefined
  merged: MergedTable | undefined
  rows: number
}

/** Keeps an earlier plan if the same table is still in place, because a merge writes the whole table. */
export async function planPublication(
  dialect: Dialect,
  load: SqlStagedTable,
  { merging, records }: { merging: boolean; records: SqlStagedTable | undefined },
  signal: AbortSignal,
  before: PlannedPublication | undefined,
): Promise<PlannedPublication> {
  const { schema, table } = load.target
  const live = await withSession(dialect, { role: 'service', signal }, async (session) => {
    await recoverPending(dialect, session)
    return readShape(dialect, session, { schema, name: table })
  })
  assertTableOwned(live, load.place)
  if (before && before.live?.id === live?.id) return before
  const merged =
    merging && live
      ? await retryOnMissingTable(dialect, () => writeMergedTable(dialect, load, records, live, signal))
      : undefined
  const rows = load.transformed
    ? await withSession(dialect, { role: 'read', signal }, (session) => countRows(dialect, session, load.staging))
    : (load.written?.rows ?? 0)
  return { load, live, merged, rows }
}

/** Returns the staging table of a publication. */
export const waitingTable = ({ load, merged }: PlannedPublication) => ({
  schema: load.target.schema,
  name: (merged ?? load.staging).name,
  id: merged?.id ?? load.id,
})

/** The metadata of a table from its publication on. */
export interface PublishedState {
  live: TableShape | undefined
  mark: Mark
  published: PublishedTable
}

/** Throws WAREHOUSE_BUSY if another run changed the table since the plan, `LeaseLost` if the rows are gone. */
export async function planPublishedState(
  dialect: Dialect,
  { ledger, tables }: { ledger: Session; tables: Session },
  planned: PlannedPublication,
  { cursors = {} }: PublishOptions,
): Promise<PublishedState> {
  const { load, live: before, merged, rows } = planned
  const { schema, table, run, attempt } = load.target
  const live = await readShape(dialect, tables, { schema, name: table })
  if (live?.id !== before?.id) throw concurrentlyChanged(load.place)
  const there = waitingTable(planned)
  const mark = (await readMarks(dialect, ledger, there.id)).get(there.id)
  if (!mark || (await findRelation(dialect, tables, there))?.id !== there.id)
    throw new LeaseLost(`The staging table of attempt ${attempt} of run ${run} is gone.`)
  const { changes, feed } = planCurrentTable(dialect, live, load)
  const falls = live && !merged ? fallOfRows(load.target, live.mark?.rows, rows) : []
  return {
    live,
    mark: {
      ...mark,
      kind: 'LOADED',
      run,
      fed: fedColumns(feed),
      feed,
      rows: merged?.rows ?? rows,
      ...(cursors[table] !== undefined && { cursor: cursors[table] }),
      ...(!merged && !load.transformed && load.profile && { profile: load.profile }),
    },
    published: { schema, table, rows, bytes: load.written?.bytes ?? 0, changes: [...changes, ...falls] },
  }
}

/** Throws WAREHOUSE_BUSY if the table has changed since the staging table was created. */
export function planCurrentTable(dialect: Dialect, live: TableShape | undefined, load: SqlStagedTable): LoadPlan {
  const { target, held, reading, written } = load
  const now = planTableAfterLoad(dialect, live, { target, held, reading, sourceRows: written?.rows })
  const types = (columns: readonly StagingColumn[]) =>
    columns
      .map(({ name, type }) => `${name}\0${type}`)
      .toSorted()
      .join('\0')
  if (types(now.columns) !== types(load.columns)) throw concurrentlyChanged(load.place)
  return now
}

/** Returns whether views must follow the change of their table. */
export const affectsViews = ({ kind }: TableChange): boolean =>
  kind === 'TYPE_WIDENED' || kind === 'TYPE_CHANGED' || kind === 'COLUMN_ADDED' || kind === 'COLUMN_DROPPED'

/** Returns the problem of a view that is valid over the old types and not over the new ones. */
export const viewRebuildProblem = (
  dialect: Dialect,
  error: unknown,
  views: readonly ManagedView[],
  place: string,
): unknown =>
  viewsDepend(
    dialect,
    error,
    place,
    (reason) =>
      `The views over ${place} (${views.map(({ name }) => name).join(', ')}) cannot be recreated with the new columns: ${reason} Change or drop them and run again. The old data stays.`,
  )
