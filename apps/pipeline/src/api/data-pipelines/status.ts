import type { DataPipelineStatus } from '@sluice/contracts'
import { progressOf } from '../../engine/runs/read-runs.ts'
import { megabytes } from '../catalogue/present-table.ts'
import { runStatusesOf } from '../runs/run-status.ts'
import type { Asked } from '../operation.ts'
import type { DataPipelineRow } from './row.ts'

/** How each pipeline's last run went, and what its last successful one left in the warehouse. */
export async function statusesOf(rows: DataPipelineRow[], { db }: Asked) {
  const statusOf = await runStatusesOf(db, rows)

  return (row: DataPipelineRow, schema: string): DataPipelineStatus => {
    const { status, last, lastSuccess } = statusOf(row.id)
    return {
      ...status,
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
