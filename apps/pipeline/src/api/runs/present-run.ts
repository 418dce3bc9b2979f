import type { Selectable } from 'kysely'
import type { LogEntry, Run, RunFile } from '@sluice/contracts'
import type { Runs } from '../../database.ts'
import type { LogLine } from '../../engine/runs/follow-run.ts'
import type { PlannedTable } from '../../engine/warehouses/load-target.ts'
import { progressOf } from '../../engine/runs/read-runs.ts'
import { duration } from './duration.ts'

export const presentRun = (row: Selectable<Runs>, startedBy?: string): Run => ({
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
  duration: duration(row.started_at, row.finished_at),
  startedBy,
  file: fileOf(row),
  progress: progressOf(row),
  rowsWritten: row.rows_written ?? undefined,
  bytesWritten: row.bytes_written ?? undefined,
  message: row.message ?? undefined,
  errorCode: row.error_code ?? undefined,
  plannedTables: (row.planned_tables as unknown as PlannedTable[] | null)?.map(presentPlan),
})

function fileOf({ input }: Selectable<Runs>): Run['file'] {
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

const mostChanges = 4_000

const presentPlan = ({ changes, ...table }: PlannedTable) => ({
  ...table,
  changes: changes.slice(0, mostChanges).map(({ column, warning = false, ...change }) => ({
    ...change,
    ...(column && { column }),
    warning,
  })),
})
