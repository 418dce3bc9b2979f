import type { DataPipelineStatus } from '@sluice/contracts'
import { lastRuns, progressOf } from '../../engine/runs/read-runs.ts'
import { duration } from '../runs/duration.ts'
import type { Asked } from '../operation.ts'
import type { DataPipelineRow } from './row.ts'

/** How each pipeline's last run went, and what its last successful one left in the warehouse. */
export async function statusesOf(rows: DataPipelineRow[], { db }: Asked) {
  const found = await lastRuns(
    db,
    rows.map(({ id }) => id),
  )

  return (row: DataPipelineRow, schema: string): DataPipelineStatus => {
    const { last, lastSuccess } = found.get(row.id) ?? {}
    return {
      lastRunStatus: (last?.state as DataPipelineStatus['lastRunStatus'] | undefined) ?? 'NEVER_RUN',
      lastRun: (last?.started_at ?? last?.created_at)?.toISOString(),
      lastRunSuccess: lastSuccess?.finished_at?.toISOString(),
      lastRunDuration: last && duration(last.started_at, last.finished_at),
      jobId: last?.uid,
      taskId: last?.uid,
      ...(last?.state === 'RUNNING' && { progress: progressOf(last) }),
      tables: lastSuccess
        ? [
            {
              schema,
              id: `${schema}.${row.table_name}`,
              name: row.table_name,
              displayName: row.name,
              size: lastSuccess.bytes_written ?? 0,
              sizeMb: megabytes(lastSuccess.bytes_written ?? 0),
              rowCount: lastSuccess.rows_written ?? 0,
              foreignKeys: [],
            },
          ]
        : [],
    }
  }
}

/** Millions of bytes, to two places. */
export const megabytes = (bytes: number): number => Math.round(bytes / 10_000) / 100
