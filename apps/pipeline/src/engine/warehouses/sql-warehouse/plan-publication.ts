import { LeaseLost } from '../../lost-run.ts'
import { type PublishedTable, type PublishOptions, type TableChange } from '../warehouse.ts'
import { fedColumns } from '../shape/feed-memory.ts'
import { fallOfRows } from '../shape/load-shape.ts'
import type { ManagedView } from './dependent-views.ts'
import type { Dialect, Session } from './sql-dialect.ts'
import { type Mark, readMarks } from './ledger.ts'
import { assertTableOwned, type SqlLoad } from './sql-loader.ts'
import { countRows, type MergedTable, writeMergedTable } from './merge.ts'
import { planTableAfterLoad, type LoadPlan } from './plan-table.ts'
import { concurrentlyChanged } from './problems.ts'
import { retryOnMissingTable, recoverPending } from './recovery.ts'
import { withSession, findRelation, readShape, type TableShape } from './table-shape.ts'
import type { StagingColumn } from './staging.ts'
import { viewsDepend } from './problems.ts'

/** What one load becomes, as it was planned over the table that was there. */
export interface PlannedPublication {
  load: SqlLoad
  live: TableShape | undefined
  merged: MergedTable | undefined
  rows: number
}

/** What was planned before over the table that is still there is not done again: merging writes all of it. */
export async function planPublication(
  dialect: Dialect,
  load: SqlLoad,
  { merging, records }: { merging: boolean; records: SqlLoad | undefined },
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

/** Where its rows wait. */
export const waitingTable = ({ load, merged }: PlannedPublication) => ({
  schema: load.target.schema,
  name: (merged ?? load.staging).name,
  id: merged?.id ?? load.id,
})

/** What is said of a table from its publication on. */
export interface PublishedState {
  live: TableShape | undefined
  mark: Mark
  published: PublishedTable
}

/** Throws WAREHOUSE_BUSY where another run changed the table since it was planned, `LostRun` where the rows are gone. */
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

/** Throws WAREHOUSE_BUSY where the table has moved on since the staging table was made. */
export function planCurrentTable(dialect: Dialect, live: TableShape | undefined, load: SqlLoad): LoadPlan {
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

/** Changes of a table that its views have to follow. */
export const affectsViews = ({ kind }: TableChange): boolean =>
  kind === 'TYPE_WIDENED' || kind === 'TYPE_CHANGED' || kind === 'COLUMN_ADDED' || kind === 'COLUMN_DROPPED'

/** A view that stood over the old types and does not over the new ones. */
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
      `The views over ${place} (${views.map(({ name }) => name).join(', ')}) cannot be made anew with the new columns: ${reason} Change or drop them and run again. The old data stays.`,
  )
