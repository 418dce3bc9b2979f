import type { LogEntry, LogQuery, PageQuery } from '@sluice/contracts'
import { Answer, type Input } from '@sluice/http'
import { pageHeaders } from '@sluice/records'
import { listLogs } from '../../engine/runs/read-runs.ts'
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
