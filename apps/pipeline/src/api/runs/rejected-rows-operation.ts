import type { RejectedRow, RejectedRowsQuery, defineRejectedRowsSignature } from '@sluice/contracts'
import { type FileDownload, JsonResponse, problems, type OperationInput } from '@sluice/http-server'
import { isUid, buildPageHeaders, type Records } from '@sluice/records'
import type { RowExport, RowTextFormat, WarehouseColumn } from '@sluice/warehouses/warehouse'
import { writeRowText } from '@sluice/warehouses/rows/csv-and-ndjson'
import type { Kysely, Selectable } from 'kysely'
import type { DB, RejectedRows } from '../../database.ts'
import { exportFile } from '../../exports/export-file.ts'
import { findRun, listRejectedRows, readRejectedRows } from '../../runs/read-runs.ts'
import { chooseExport } from '../read-table-page.ts'
import { type RequestContext, definePipelineOperation, type PipelineContext } from '../operation-context.ts'

export const presentRejectedRow = ({ line, column, reason, raw }: Selectable<RejectedRows>): RejectedRow => ({
  line,
  column: column ?? undefined,
  reason,
  raw,
})

type RejectedRowsRequest = OperationInput<
  PipelineContext,
  '/:uid/runs/:taskId/rejected-rows',
  RejectedRowsQuery,
  undefined
>

/** The columns of an exported file of rejected rows. */
const rejectedRowColumns: WarehouseColumn[] = [
  { name: 'line', label: 'line', dataType: 'BIGINT', primaryKey: false },
  ...(['column', 'reason', 'raw'] as const).map(
    (name): WarehouseColumn => ({ name, label: name, dataType: 'TEXT', primaryKey: false }),
  ),
]

export const createRejectedRowsOperation = <Row extends { id: number; uid: string; version: number }>(
  signatures: ReturnType<typeof defineRejectedRowsSignature<string>>,
  records: Records<Row, any, RequestContext>,
) => ({
  rejectedRows: definePipelineOperation(
    signatures.rejectedRows,
    async (input): Promise<JsonResponse<RejectedRow[]> | FileDownload> => {
      const { db, caller, params, query, request } = input as RejectedRowsRequest
      const exportChoice = chooseExport(query, request.acceptedType)
      const row = await records.read(db, caller, params.uid)
      if (!isUid(params.taskId)) throw problems.notFound('run')
      if (exportChoice)
        return exportFile({ ...input, operation: signatures.rejectedRows.id }, exportChoice, async () => {
          const run = await findRun(db, row.id, params.taskId)
          if (!run) throw problems.notFound('run')
          return {
            open: async (format) => exportRejectedRows(db, run.id, format),
            object: row.uid,
            fileName: `rejected-rows-${params.taskId}`,
          }
        })
      const page = { page: query.page ?? 1, pageSize: query.pageSize ?? 50 }
      const rejectedRows = await listRejectedRows(db, row.id, params.taskId, page)
      if (!rejectedRows) throw problems.notFound('run')
      return new JsonResponse(
        rejectedRows.rows.map(presentRejectedRow),
        buildPageHeaders({ ...page, total: rejectedRows.total }, request.url),
      )
    },
  ),
})

/** Returns the rejected rows of a run as an export in a text format. */
function exportRejectedRows(db: Kysely<DB>, runId: number, format: RowTextFormat): RowExport {
  async function* cells() {
    for await (const rows of readRejectedRows(db, runId))
      yield rows.map(({ line, column, reason, raw }) => [line, column, reason, raw])
  }
  return {
    columns: rejectedRowColumns,
    ...writeRowText(cells(), rejectedRowColumns, format),
    [Symbol.asyncDispose]: async () => {},
  }
}
