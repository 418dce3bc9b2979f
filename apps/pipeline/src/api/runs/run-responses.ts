import type { Kysely, Selectable } from 'kysely'
import type { LogEntry, ObjectRun, Run, RunFile, RunStatus, TablePublication } from '@sluice/contracts'
import type { DB, Runs } from '../../database.ts'
import type { LogLine } from '../../runs/follow-run-logs.ts'
import type { PlannedTable } from '@sluice/warehouses/load-target'
import type { PublishedTableSize } from '../../run-lifecycle/finish-run.ts'
import { findLastRuns, computeProgress } from '../../runs/read-runs.ts'
import type { RunOfObject } from './runs-of-objects.ts'

/**
 * The columns of a run that responses show. Lists over several objects leave out the planned tables and the progress of
 * each table.
 */
type ShownRun = Omit<Selectable<Runs>, 'planned_tables' | 'progress_tables' | 'sealed_input' | 'tables'> &
  Partial<Pick<Selectable<Runs>, 'planned_tables' | 'progress_tables'>>

/** Converts a run to a resource. `startedBy` is the username of the user who started it. */
export const presentRun = (row: ShownRun, startedBy?: string): Run => ({
  taskId: row.uid,
  status: row.state as Run['status'],
  trigger: row.trigger as Run['trigger'],
  mode: row.mode as Run['mode'],
  action: row.action as Run['action'],
  scheduledFor: row.scheduled_for?.toISOString(),
  attempt: row.attempt,
  created: row.created_at.toISOString(),
  started: row.started_at?.toISOString(),
  finished: row.finished_at?.toISOString(),
  duration: formatDuration(row.started_at, row.finished_at),
  startedBy,
  file: presentRunFile(row),
  progress: computeProgress(row),
  rowsWritten: row.rows_written ?? undefined,
  bytesWritten: row.bytes_written ?? undefined,
  message: row.message ?? undefined,
  errorCode: row.error_code ?? undefined,
  plannedTables: (row.planned_tables as unknown as PlannedTable[] | null | undefined)?.map(presentPlan),
})

export const presentObjectRun = (row: RunOfObject, startedBy?: string): ObjectRun => ({
  ...presentRun(row, startedBy),
  object: { kind: row.object_kind, id: row.object_uid, name: row.object_name },
})

function presentRunFile({ input }: ShownRun): Run['file'] {
  const { file } = input as { file?: RunFile }
  if (!file) return undefined
  const { name, size, sha256, uploaded } = file
  return { name, size, sha256, uploaded }
}

export const presentLogEntry = (row: LogLine, pipeline: { uid: string; client: string }): LogEntry => ({
  id: String(row.id),
  created: row.created_at.toISOString(),
  lastUpdated: row.created_at.toISOString(),
  client: pipeline.client,
  dataPipeline: pipeline.uid,
  taskId: row.run_uid,
  logLevel: row.level as LogEntry['logLevel'],
  logImportance: row.importance as LogEntry['logImportance'],
  message: row.message,
})

/**
 * Presents a run as a publication: the tables that it swapped in or changed. The run must have published at least one.
 */
export const presentPublication = (row: Selectable<Runs>, startedBy?: string): TablePublication => {
  const published = ((row.tables ?? []) as unknown as PublishedTableSize[]).flatMap(({ publication, ...table }) =>
    publication ? [{ ...table, publication }] : [],
  )
  return {
    taskId: row.uid,
    published: row.finished_at!.toISOString(),
    action: row.action as TablePublication['action'],
    status: row.state as TablePublication['status'],
    writeMode: published.find(({ publication }) => publication.mode)?.publication.mode,
    trigger: row.trigger as TablePublication['trigger'],
    startedBy,
    file: row.action === 'RUN' ? presentRunFile(row) : undefined,
    rowsRead: computeProgress(row).rowsRead,
    rowsRejected: row.rows_rejected,
    message: row.message ?? undefined,
    tables: published.slice(0, maxTables).map(({ schema, name, rows, publication }) => ({
      schema,
      table: name,
      rowsWritten: publication.rows,
      rowsAdded: publication.merged?.added,
      rowsChanged: publication.merged?.changed,
      rowsRemoved: publication.merged?.removed,
      rowsBefore: publication.rowsBefore,
      rowsAfter: rows,
      bytesWritten: publication.bytes,
      changes: presentChanges(publication.changes),
    })),
  }
}

const maxTables = 1_000
const maxChanges = 4_000

const presentPlan = ({ changes, listsTables: _listsTables, ...table }: PlannedTable) => ({
  ...table,
  changes: presentChanges(changes),
})

const presentChanges = (changes: PlannedTable['changes']) =>
  changes.slice(0, maxChanges).map(({ column, warning = false, ...change }) => ({
    ...change,
    ...(column && { column }),
    warning,
  }))

/** The status of an object in responses, and the runs from which it was computed. */
export interface ObjectRunStatus {
  status: RunStatus
  lastRun?: Selectable<Runs>
  lastSuccessfulRun?: Selectable<Runs>
}

/** Returns a function that returns the status of an object: its last run, and the time of its next full load. */
export async function readRunStatuses(
  db: Kysely<DB>,
  rows: readonly { id: number }[],
): Promise<(id: number) => ObjectRunStatus> {
  const ids = rows.map(({ id }) => id)
  const [runs, runnables] = await Promise.all([
    findLastRuns(db, ids),
    db
      .selectFrom('runnables')
      .select(['id', 'next_full_run_at'])
      // No object has the key 0. It is there because SQL does not allow an empty list.
      .where('id', 'in', [0, ...ids])
      .where('next_full_run_at', 'is not', null)
      .execute(),
  ])
  const nextFullRuns = new Map(runnables.map((row) => [row.id, row.next_full_run_at!.toISOString()]))

  return (id) => {
    const { last: lastRun, lastSuccess: lastSuccessfulRun } = runs.get(id) ?? {}
    // A queued run has no start yet.
    const lastRunAt = lastRun?.started_at ?? lastRun?.created_at
    const status: RunStatus = {
      lastRunStatus: (lastRun?.state as RunStatus['lastRunStatus'] | undefined) ?? 'NEVER_RUN',
      lastRun: lastRunAt?.toISOString(),
      lastRunSuccess: lastSuccessfulRun?.finished_at?.toISOString(),
      nextFullReplaceRun: nextFullRuns.get(id),
      lastRunDuration: lastRun && formatDuration(lastRun.started_at, lastRun.finished_at),
      jobId: lastRun?.uid,
    }
    return { status, ...(lastRun && { lastRun }), ...(lastSuccessfulRun && { lastSuccessfulRun }) }
  }
}

/** Formats a duration in ISO 8601 with milliseconds, such as `PT1.204S`. Returns undefined for an unfinished run. */
function formatDuration(start: Date | null, end: Date | null): string | undefined {
  if (!start || !end) return undefined
  return `PT${Math.max(0, end.getTime() - start.getTime()) / 1000}S`
}
