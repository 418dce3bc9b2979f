import {
  type ExplainBody,
  type ExplainedQuery,
  maxQueryResultRows,
  pipelineOperations,
  type QueryBody,
  type QueryFormat,
  type SqlQueryResult,
} from '@sluice/contracts'
import { recordAudit } from '@sluice/database'
import { type FileDownload, type OperationInput, problems } from '@sluice/http-server'
import type { QueryPlan, Warehouse } from '@sluice/warehouses/warehouse'
import { exportFile } from '../../exports/export-file.ts'
import { refuseAmbiguousTables } from '../../quality-checks/query-refusals.ts'
import { whileConnected } from '../abort-on-disconnect.ts'
import { requestSlots } from '../concurrency-limits.ts'
import { definePipelineOperation, type PipelineContext } from '../operation-context.ts'
import { chooseExport, startWithin } from '../read-table-page.ts'
import { presentColumn } from '../table-responses.ts'
import { prepareQuery, type PreparedQuery } from './prepare-query.ts'

const { queries: signatures } = pipelineOperations

type QueryRequest = OperationInput<PipelineContext, '/queries', QueryFormat, QueryBody>
type ExplainRequest = OperationInput<PipelineContext, '/queries/explain', undefined, ExplainBody>

/** The time limits of a query in its slot, and in the warehouse, which is a little shorter: those of the preview of a view. */
const slotTimeoutMs = 31_000
const querySeconds = 28

/** The number of rows of a JSON response, if the request sets no limit. */
const defaultRows = 1_000

/** Characters of the query in the audit. */
const auditedLength = 10_000

/** Runs a query, and returns its first rows as JSON or all rows as a file. The audit records it even if it fails. */
async function runQuery(input: QueryRequest): Promise<SqlQueryResult | FileDownload> {
  const { body, query, request } = input
  const choice = chooseExport(query, request.acceptedType)
  if (!choice && (body.limit ?? 0) > maxQueryResultRows)
    throw problems.refused(
      '/limit',
      `A JSON response has at most ${maxQueryResultRows.toLocaleString('en')} rows. Use a smaller limit, or request a file with format=csv.`,
    )
  const prepared = await prepareQuery(input)
  if (!choice) return queryRows(input, prepared)
  return exportFile({ ...input, operation: signatures.run.id }, choice, async () => {
    const warehouse = await whileQuerying(input, (signal) => openWarehouse(input, prepared, signal))
    const exported = { query: { ...prepared.query, limits: { rows: body.limit } } }
    return {
      open: (format, signal) =>
        startWithin(querySeconds, signal, (either) => warehouse.queries.exportRows(exported, format, either)),
      object: null,
      details: auditedQuery(body),
      fileName: 'query',
    }
  })
}

async function queryRows(input: QueryRequest, prepared: PreparedQuery): Promise<SqlQueryResult> {
  const { body, caller, db, request } = input
  const start = new Date()
  let answer: SqlQueryResult | undefined
  try {
    answer = await whileQuerying(input, async (signal) => {
      const warehouse = await openWarehouse(input, prepared, signal)
      const limits = { rows: body.limit ?? defaultRows, seconds: querySeconds }
      const { columns, rows, more = false } = await warehouse.queries.query({ ...prepared.query, limits }, signal)
      return {
        columns: columns.map(presentColumn),
        rows,
        height: rows.length,
        width: columns.length,
        more,
        queryStartTime: start.toISOString(),
        queryDuration: Date.now() - start.getTime(),
      }
    })
    return answer
  } finally {
    await recordAudit(db, {
      operation: signatures.run.id,
      actor: caller.uid,
      client: caller.client,
      object: null,
      requestId: request.id,
      address: request.address,
      details: {
        ...auditedQuery(body),
        format: 'json',
        rows: answer?.height ?? 0,
        outcome: answer ? 'OK' : 'FAILED',
      },
    })
  }
}

/** Returns the query as the user wrote it. */
const auditedQuery = ({ sql, schemas, variables }: QueryBody) => ({
  sql: sql.slice(0, auditedLength),
  ...(schemas && { schemas: schemas.map(({ id }) => id) }),
  ...(variables && { variables: variables.map(({ name }) => name) }),
})

async function explainQuery(input: ExplainRequest): Promise<ExplainedQuery> {
  const prepared = await prepareQuery(input)
  const { text, reads, estimatedRows } = await whileQuerying(input, async (signal) => {
    const warehouse = await openWarehouse(input, prepared, signal)
    return warehouse.queries.explain(prepared.query, signal)
  })
  return {
    summary: summarize({ reads, estimatedRows }),
    tables: reads,
    ...(estimatedRows !== undefined && { estimatedRows: Math.min(estimatedRows, Number.MAX_SAFE_INTEGER) }),
    plan: text,
  }
}

/** Maximum number of tables in a summary. */
const maxNamedTables = 5

function summarize({ reads, estimatedRows }: Pick<QueryPlan, 'reads' | 'estimatedRows'>): string {
  const names = reads.slice(0, maxNamedTables).map(({ schema, name }) => `${schema}.${name}`)
  const others = reads.length - names.length
  const tables = reads.length === 0 ? 'no table' : names.join(', ') + (others > 0 ? ` and ${others} more` : '')
  const rows = `${estimatedRows?.toLocaleString('en')} ${estimatedRows === 1 ? 'row' : 'rows'}`
  return `The query reads ${tables}.${estimatedRows === undefined ? '' : ` The warehouse estimates a result of ${rows}.`}`
}

type QueryInput = Pick<QueryRequest, 'request' | 'caller' | 'warehouses'>

/** Runs `work` in a slot of the organisation, and aborts it when the connection closes. */
const whileQuerying = <T>({ request, caller }: QueryInput, work: (signal: AbortSignal) => Promise<T>): Promise<T> =>
  whileConnected(
    {
      request,
      queue: requestSlots.queries.queueOf(caller.client),
      timeoutMs: slotTimeoutMs,
      onTimeout: (): never => {
        throw problems.refused(
          '/sql',
          `The query took longer than ${querySeconds} seconds and was stopped. Add a filter or simplify the query.`,
        )
      },
    },
    work,
  )

/** Returns the warehouse. Throws 422 if the query names a table without a schema that several schemas have. */
async function openWarehouse(
  { caller, warehouses }: QueryInput,
  { query, hasOrder }: PreparedQuery,
  signal: AbortSignal,
): Promise<Warehouse> {
  const warehouse = await warehouses.open(caller.client)
  const sentence = hasOrder ? undefined : await refuseAmbiguousTables(warehouse)(query, signal)
  if (sentence !== undefined) throw problems.refused('/sql', sentence)
  return warehouse
}

export const queryOperations = {
  run: definePipelineOperation(signatures.run, runQuery),
  explain: definePipelineOperation(signatures.explain, explainQuery),
}
