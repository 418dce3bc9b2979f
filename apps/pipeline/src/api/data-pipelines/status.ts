import type { Selectable } from 'kysely'
import type { DataPipelineStatus, TableSummary } from '@sluice/contracts'
import type { Runs } from '../../database.ts'
import type { TableThere } from '../../engine/run-lifecycle/finish-run.ts'
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
      tables: lastSuccess ? tablesOf(lastSuccess, row, schema) : [],
    }
  }
}

/** Fill an answer. */
const mostTables = 1_000

/** What a run left of a pipeline that is where it was then. */
function tablesOf(run: Selectable<Runs>, row: DataPipelineRow, schema: string): TableSummary[] {
  const { table_name: own, name: title } = row
  const older = [{ schema, name: own, rows: run.rows_written ?? 0, size: run.bytes_written ?? 0 }]
  return ((run.tables as unknown as TableThere[] | null) ?? older)
    .filter((table) => table.schema === schema && (table.name === own || table.name.startsWith(`${own}__`)))
    .slice(0, mostTables)
    .map(({ name, rows, size }) => ({
      schema,
      id: `${schema}.${name}`,
      name,
      description: name === own ? (row.description ?? undefined) : undefined,
      displayName: name === own ? title : `${title}: ${name.slice(own.length + 2)}`,
      size,
      sizeMb: megabytes(size),
      rowCount: rows,
      foreignKeys: [],
    }))
}
