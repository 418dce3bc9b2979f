import type { LogEntry, LogQuery, PageQuery, RejectedRow } from '@sluice/contracts'
import { Answer, problems, type Input } from '@sluice/http'
import { isUid, pageHeaders } from '@sluice/records'
import { listLogs, listRejectedRows } from '../../engine/runs/read-runs.ts'
import type { PipelineContext } from '../operation.ts'
import { presentLogEntry } from '../runs/present-run.ts'
import { dataPipelines } from './records.ts'

const pageOf = ({ page = 1, pageSize = 50 }: PageQuery) => ({ page, pageSize })

export async function logs(
  input: Input<PipelineContext, '/data-pipelines/:uid/logs', LogQuery, undefined>,
): Promise<Answer<LogEntry[]>> {
  const { db, caller, params, query, request } = input
  const pipeline = await dataPipelines.read(db, caller, params.uid)
  const page = pageOf(query)
  const { rows, total } = await listLogs(db, pipeline.id, query, page)
  const answer = rows.map((row) => presentLogEntry(row, pipeline))
  return new Answer(answer, pageHeaders({ ...page, total }, request.url))
}

export async function rejectedRows(
  input: Input<PipelineContext, '/data-pipelines/:uid/runs/:taskId/rejected-rows', PageQuery, undefined>,
): Promise<Answer<RejectedRow[]>> {
  const { db, caller, params, query, request } = input
  const pipeline = await dataPipelines.read(db, caller, params.uid)
  const page = pageOf(query)
  const found = isUid(params.taskId) && (await listRejectedRows(db, pipeline.id, params.taskId, page))
  if (!found) throw problems.notFound('run')
  const answer = found.rows.map(
    ({ line, column, reason, raw }): RejectedRow => ({ line, column: column ?? undefined, reason, raw }),
  )
  return new Answer(answer, pageHeaders({ ...page, total: found.total }, request.url))
}
