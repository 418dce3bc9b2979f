import type { LogQuery, LoadProgress } from '@sluice/contracts'
import { sql, type Kysely, type Selectable, type SelectQueryBuilder } from 'kysely'
import type { DB, RejectedRows, RunLogs, Runs } from '../database.ts'
import type { PreviousRows } from '@sluice/warehouses/warehouse'
import type { TableProgress } from './heartbeat.ts'
import { successfulStates, underWay } from './run-states.ts'

type RunRow = Selectable<Runs>

/** A page of a list. `page` starts at 1. */
interface PageRequest {
  page: number
  pageSize: number
}

interface ListedRows<Row> {
  rows: Row[]
  total: number
}

/** Lists the runs of an object, newest first. */
export async function listRuns(db: Kysely<DB>, runnableId: number, page: PageRequest): Promise<ListedRows<RunRow>> {
  const runsOfObject = db.selectFrom('runs').where('runnable_id', '=', runnableId)
  return readPage(runsOfObject.selectAll().orderBy('id', 'desc'), page)
}

/** Lists the runs that published tables of a pipeline, newest first. */
export async function listPublications(
  db: Kysely<DB>,
  runnableId: number,
  page: PageRequest,
): Promise<ListedRows<RunRow>> {
  const publications = db
    .selectFrom('runs')
    .where('runnable_id', '=', runnableId)
    .where('state', 'in', [...successfulStates])
    .where(sql<boolean>`jsonb_path_exists(tables, '$[*].publication')`)
  return readPage(publications.selectAll().orderBy('id', 'desc'), page)
}

/**
 * Returns the newest run and the newest successful run of each object. Ignores dry runs. Objects without runs have no
 * entry.
 */
export async function findLastRuns(
  db: Kysely<DB>,
  runnableIds: readonly number[],
): Promise<Map<number, { last: RunRow; lastSuccess?: RunRow }>> {
  if (runnableIds.length === 0) return new Map()
  // Returns one or two rows for each object with runs. `newest_success.id` is null if no run was successful.
  const { rows } = await sql<RunRow & { isNewest: boolean; isNewestSuccess: boolean | null }>`
    select run.*, run.id = newest.id as "isNewest", run.id = newest_success.id as "isNewestSuccess"
    from unnest(${runnableIds}::bigint[]) as object (id)
    cross join lateral (
      select id from runs where runnable_id = object.id and action <> 'DRY_RUN' order by id desc limit 1
    ) newest
    left join lateral (
      select id from runs
      where runnable_id = object.id and action <> 'DRY_RUN' and state = any(${[...successfulStates]}::text[])
      order by id desc limit 1
    ) newest_success on true
    join runs run on run.id in (newest.id, newest_success.id)
  `.execute(db)

  const lastRunsByObject = new Map<number, { last: RunRow; lastSuccess?: RunRow }>()
  for (const { isNewest, isNewestSuccess, ...run } of rows.toSorted((one, other) => other.id - one.id)) {
    // The newest run comes first. The newest successful run is either the same one or an older one.
    if (isNewest) lastRunsByObject.set(run.runnable_id, { last: run })
    if (isNewestSuccess) lastRunsByObject.get(run.runnable_id)!.lastSuccess = run
  }
  return lastRunsByObject
}

/** Returns whether a run of this object is queued or running. */
export async function hasActiveRun(db: Kysely<DB>, runnableId: number): Promise<boolean> {
  const runs = db
    .selectFrom('runs')
    .select('uid')
    .where('runnable_id', '=', runnableId)
    .where('state', 'in', [...underWay])
  return (await runs.executeTakeFirst()) !== undefined
}

/** Lists the log lines of an object, or of one of its runs, newest first by default. */
export async function listLogs(
  db: Kysely<DB>,
  runnableId: number,
  { taskId, logLevel, logImportance, order = 'DESC' }: LogQuery,
  page: PageRequest,
): Promise<ListedRows<Selectable<RunLogs> & { run_uid: string }>> {
  let logLines = db.selectFrom('run_logs as l').where('l.runnable_id', '=', runnableId)
  if (taskId) {
    const run = await findRun(db, runnableId, taskId)
    if (!run) return { rows: [], total: 0 }
    logLines = logLines.where('l.run_id', '=', run.id)
  }
  if (logLevel) logLines = logLines.where('l.level', '=', logLevel)
  if (logImportance) logLines = logLines.where('l.importance', '=', logImportance)
  const direction = order === 'ASC' ? 'asc' : 'desc'
  const uid = sql<string>`(select r.uid from runs r where r.id = l.run_id)`.as('run_uid')
  return readPage(logLines.selectAll('l').select(uid).orderBy('l.id', direction), page)
}

/** Lists the rejected rows of a run in the order of the source. Returns undefined if the object has no such run. */
export async function listRejectedRows(
  db: Kysely<DB>,
  runnableId: number,
  run: string,
  page: PageRequest,
): Promise<ListedRows<Selectable<RejectedRows>> | undefined> {
  const runRow = await findRun(db, runnableId, run)
  if (!runRow) return undefined
  const rows = db.selectFrom('rejected_rows').where('run_id', '=', runRow.id)
  return readPage(rows.selectAll().orderBy('id'), page)
}

const rejectedRowsPerBatch = 2_000

/** Yields all rejected rows of a run in batches, in the order of the source. */
export async function* readRejectedRows(
  db: Kysely<DB>,
  runId: number,
): AsyncGenerator<readonly Selectable<RejectedRows>[]> {
  for (let after = 0; ; ) {
    const rows = await db
      .selectFrom('rejected_rows')
      .selectAll()
      .where('run_id', '=', runId)
      .where('id', '>', after)
      .orderBy('id')
      .limit(rejectedRowsPerBatch)
      .execute()
    if (rows.length > 0) yield rows
    if (rows.length < rejectedRowsPerBatch) return
    after = rows.at(-1)!.id
  }
}

/**
 * Returns the time of a publication as the history of the table has it: the end of its run. If the run is no longer
 * kept, returns the time of the warehouse, which is shortly before.
 */
export async function readPublicationTime(db: Kysely<DB>, { run, publishedAt }: PreviousRows): Promise<Date> {
  const row = await db.selectFrom('runs').select('finished_at').where('uid', '=', run).executeTakeFirst()
  return row?.finished_at ?? publishedAt
}

/** Finds the run `uid`. Returns undefined if it belongs to another object or does not exist. */
export function findRun(db: Kysely<DB>, runnableId: number, uid: string): Promise<{ id: number } | undefined> {
  const runs = db.selectFrom('runs').select('id').where('runnable_id', '=', runnableId)
  return runs.where('uid', '=', uid).executeTakeFirst()
}

/**
 * Returns the progress of a run. The rates are those of the last seconds while it runs, and those of the whole attempt
 * after it has ended. A successful run has 100 percent. Omits the estimated end unless the run is running and that time
 * is after `now`.
 */
export function computeProgress(
  run: Omit<RunRow, 'planned_tables' | 'progress_tables' | 'sealed_input' | 'tables'> &
    Partial<Pick<RunRow, 'progress_tables'>>,
  now: Date = new Date(),
): LoadProgress {
  const { bytes_read: bytesRead, bytes_total: bytesTotal, rows_read: rowsRead, rows_rejected: rowsRejected } = run
  const isRunning = run.state === 'RUNNING'
  const seconds = run.started_at && run.finished_at ? (run.finished_at.getTime() - run.started_at.getTime()) / 1000 : 0
  const averagePerSecond = (amount: number) => (seconds > 0 ? amount / seconds : 0)
  const percentage = (successfulStates as readonly string[]).includes(run.state) ? 100 : run.percentage
  return {
    bytesRead,
    rowsRead,
    rowsRejected,
    ...(bytesTotal !== null && { bytesTotal }),
    ...(percentage !== null && { percentage }),
    rowsPerSecond: Math.round(isRunning ? (run.rows_per_second ?? 0) : averagePerSecond(rowsRead)),
    bytesPerSecond: Math.round(isRunning ? (run.bytes_per_second ?? 0) : averagePerSecond(bytesRead)),
    ...(run.progress_tables && { tables: run.progress_tables as unknown as TableProgress[] }),
    ...(isRunning && run.estimated_end && run.estimated_end > now && { estimatedEnd: run.estimated_end.toISOString() }),
  }
}

/** Returns a page of a query's rows, and the total number of rows. */
async function readPage<Row>(
  query: SelectQueryBuilder<any, any, Row>,
  { page, pageSize }: PageRequest,
): Promise<ListedRows<Row>> {
  const [rows, countRow] = await Promise.all([
    query
      .limit(pageSize)
      .offset((page - 1) * pageSize)
      .execute(),
    query
      .clearSelect()
      .clearOrderBy()
      .select((eb: any) => eb.fn.countAll().as('total'))
      .executeTakeFirstOrThrow(),
  ])
  return { rows, total: (countRow as { total: number }).total }
}
