import type { QueryResult, ViewPreviewBody } from '@sluice/contracts'
import { problems, type OperationInput } from '@sluice/http-server'
import { visibleTo } from '@sluice/records'
import { presentTable } from '../table-responses.ts'
import { runWhileConnected } from '../abort-on-disconnect.ts'
import { requestSlots } from '../concurrency-limits.ts'
import { trimStatementEnd } from '@sluice/warehouses/sql-text/sql-tokens'
import type { PipelineContext } from '../operation-context.ts'
import { assertQueryAllowed } from './validate-view.ts'

type ViewPreviewRequest = OperationInput<PipelineContext, '/views/preview', undefined, ViewPreviewBody>

/**
 * The time for which a preview may hold its slot, in milliseconds, and the slightly shorter timeout of its query in
 * seconds.
 */
const previewTimeoutMs = 31_000
const querySeconds = 28

/**
 * Previews the first rows of a query. Runs it with the read-only role, and resolves unqualified names as in the saved
 * view.
 */
export async function previewView(input: ViewPreviewRequest): Promise<QueryResult> {
  const { body, caller, request, warehouses } = input
  assertQueryAllowed(body.query)
  const schema = await readSchemaName(input)
  const warehouse = await warehouses.open(caller.client)
  const text = trimStatementEnd(body.query)
  const limits = { rows: body.rows ?? 100, seconds: querySeconds }
  const start = new Date()
  const { columns, rows } = await runWhileConnected(
    {
      request,
      queue: requestSlots.previews.queueOf(caller.client),
      timeoutMs: previewTimeoutMs,
      onTimeout: (): never => {
        throw problems.refused(
          '/query',
          `The query took longer than ${querySeconds} seconds. Add a filter, or save the view without a preview.`,
        )
      },
    },
    (signal) => warehouse.queries.query({ text, schemas: [schema], limits }, signal),
  )
  const table = { schema, name: 'preview', columns, rowCount: rows.length, size: 0, foreignKeys: [] }
  return {
    ...presentTable(table),
    queryStartTime: start.toISOString(),
    queryDuration: Date.now() - start.getTime(),
    rows,
    height: rows.length,
    width: columns.length,
  }
}

/** Returns the name of the body's schema in the warehouse. Throws 422 if the caller may not see the schema. */
async function readSchemaName({ db, body, caller }: ViewPreviewRequest): Promise<string> {
  const schemaRow = await db
    .selectFrom('schemas as r')
    .select('schema_name')
    .where('uid', '=', body.schema.id)
    .where(visibleTo(caller, 'READ'))
    .executeTakeFirst()
  if (!schemaRow)
    throw problems.refused(
      '/schema/id',
      `No schema that you may see has the id ${body.schema.id}. Choose another schema.`,
    )
  return schemaRow.schema_name
}
