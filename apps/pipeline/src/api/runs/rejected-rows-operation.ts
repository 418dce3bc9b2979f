import type { PageQuery, RejectedRow, rejectedRowsSignature } from '@sluice/contracts'
import { JsonResponse, problems, type OperationInput } from '@sluice/http-server'
import { isUid, pageHeaders, type Records } from '@sluice/records'
import type { Selectable } from 'kysely'
import type { RejectedRows } from '../../database.ts'
import { listRejectedRows } from '../../runs/read-runs.ts'
import { type RequestContext, definePipelineOperation, type PipelineContext } from '../operation-context.ts'

export const presentRejectedRow = ({ line, column, reason, raw }: Selectable<RejectedRows>): RejectedRow => ({
  line,
  column: column ?? undefined,
  reason,
  raw,
})

type RejectedRowsRequest = OperationInput<PipelineContext, '/:uid/runs/:taskId/rejected-rows', PageQuery, undefined>

export const rejectedRowsOperation = <Row extends { id: number; uid: string; version: number }>(
  signatures: ReturnType<typeof rejectedRowsSignature<string>>,
  records: Records<Row, any, RequestContext>,
) => ({
  rejectedRows: definePipelineOperation(
    signatures.rejectedRows,
    async (input): Promise<JsonResponse<RejectedRow[]>> => {
      const { db, caller, params, query, request } = input as RejectedRowsRequest
      const row = await records.read(db, caller, params.uid)
      const page = { page: query.page ?? 1, pageSize: query.pageSize ?? 50 }
      const found = isUid(params.taskId) && (await listRejectedRows(db, row.id, params.taskId, page))
      if (!found) throw problems.notFound('run')
      return new JsonResponse(
        found.rows.map(presentRejectedRow),
        pageHeaders({ ...page, total: found.total }, request.url),
      )
    },
  ),
})
