import { createHash } from 'node:crypto'
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
import { trimStatementEnd } from '@sluice/warehouses/sql-text/sql-tokens'
import type { QueryPlan, QueryRows, UserQuery, Warehouse } from '@sluice/warehouses/warehouse'
import { exportFile } from '../../exports/export-file.ts'
import { createAmbiguousTableRefusal } from '../../quality-checks/query-refusals.ts'
import {
  findUserPosition,
  findVariablesInSql,
  replaceSqlVariables,
  type ReplacedPart,
} from '../../variables/insert-variables-into-sql.ts'
import { getWarehouseLanguage, type SqlLanguage } from '../../variables/sql-syntax-rules.ts'
import { readVariables } from '../../variables/variables.ts'
import { runWhileConnected } from '../abort-on-disconnect.ts'
import { requestSlots } from '../concurrency-limits.ts'
import { definePipelineOperation, type PipelineContext, type RequestContext } from '../operation-context.ts'
import { chooseExport, startWithTimeout } from '../read-table-page.ts'
import { presentColumn } from '../table-responses.ts'

const { queries: signatures } = pipelineOperations

type QueryRequest = OperationInput<PipelineContext, '/queries', QueryFormat, QueryBody>
type ExplainRequest = OperationInput<PipelineContext, '/queries/explain', undefined, ExplainBody>

/**
 * The time for which a query may hold its slot, in milliseconds, and the slightly shorter timeout of the warehouse in
 * seconds. Previews of views have the same limits.
 */
const slotTimeoutMs = 31_000
const querySeconds = 28

/** The number of rows in a JSON response if the request sets no limit. */
const defaultRows = 1_000

/** The maximum length of a query in the audit log, in characters. */
const auditedLength = 10_000

/** Runs a query. Returns its first rows as JSON or all rows as a file. The audit log records failed queries too. */
async function runQuery(input: QueryRequest): Promise<SqlQueryResult | FileDownload> {
  const { body, query, request } = input
  const exportChoice = chooseExport(query, request.acceptedType)
  if (!exportChoice && (body.limit ?? 0) > maxQueryResultRows)
    throw problems.refused(
      '/limit',
      `A JSON response has at most ${maxQueryResultRows.toLocaleString('en')} rows. Use a smaller limit, or request a file with format=csv.`,
    )
  const preparedQuery = await prepareQuery(input)
  if (!exportChoice) return queryRows(input, preparedQuery)
  return exportFile({ ...input, operation: signatures.run.id }, exportChoice, async () => {
    const warehouse = await whileQuerying(input, (signal) => openWarehouse(input, preparedQuery, signal))
    const rowsToExport = { query: { ...preparedQuery.query, limits: { rows: body.limit } } }
    return {
      open: (format, signal) =>
        startWithTimeout(querySeconds, signal, (signalWithTimeout) =>
          warehouse.queries.exportRows(rowsToExport, format, signalWithTimeout),
        ),
      object: null,
      details: toQueryAudit(body),
      fileName: 'query',
    }
  })
}

/** Runs a query, and returns its first rows. Writes the audit row, also if the query fails. */
const queryRows = (input: QueryRequest, prepared: PreparedQuery): Promise<SqlQueryResult> =>
  whileQuerying(input, async (signal) => {
    const start = new Date()
    const limits = { rows: input.body.limit ?? defaultRows, seconds: querySeconds }
    const {
      columns,
      rows,
      more = false,
    } = await auditQuery(input, async () => {
      const warehouse = await openWarehouse(input, prepared, signal)
      return warehouse.queries.query({ ...prepared.query, limits }, signal)
    })
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

/** Runs `query` and writes its audit row, also if it fails. */
async function auditQuery(
  { body, caller, db, request }: QueryRequest,
  query: () => Promise<QueryRows>,
): Promise<QueryRows> {
  let result: QueryRows | undefined
  try {
    result = await query()
    return result
  } finally {
    await recordAudit(db, {
      operation: signatures.run.id,
      actor: caller.uid,
      client: caller.client,
      object: null,
      requestId: request.id,
      address: request.address,
      details: {
        ...toQueryAudit(body),
        format: 'json',
        rows: result?.rows.length ?? 0,
        outcome: result ? 'OK' : 'FAILED',
      },
    })
  }
}

/**
 * Returns the query as the user sent it, for the audit log. A longer query is cut; its full length and SHA-256 then
 * show that a part is missing and identify the text.
 */
const toQueryAudit = ({ sql, schemas, variables }: QueryBody) => ({
  sql: sql.slice(0, auditedLength),
  ...(sql.length > auditedLength && {
    sqlLength: sql.length,
    sqlSha256: createHash('sha256').update(sql).digest('hex'),
  }),
  ...(schemas && { schemas: schemas.map(({ id }) => id) }),
  ...(variables && { variables: variables.map(({ name }) => name) }),
})

/**
 * Returns the execution plan of a query, the tables that it reads, and a summary for people. Does not run the query.
 */
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

/** The maximum number of tables that a query's summary names. */
const maxNamedTables = 5

function summarize({ reads, estimatedRows }: Pick<QueryPlan, 'reads' | 'estimatedRows'>): string {
  const names = reads.slice(0, maxNamedTables).map(({ schema, name }) => `${schema}.${name}`)
  const otherCount = reads.length - names.length
  const others = otherCount > 0 ? ` and ${otherCount} more` : ''
  const tables = reads.length === 0 ? 'no table' : `${names.join(', ')}${others}`
  if (estimatedRows === undefined) return `The query reads ${tables}.`
  const rows = `${estimatedRows.toLocaleString('en')} ${estimatedRows === 1 ? 'row' : 'rows'}`
  return `The query reads ${tables}. The warehouse estimates a result of ${rows}.`
}

type QueryInput = Pick<QueryRequest, 'request' | 'caller' | 'warehouses'>

/** Runs `callback` in a query slot of the organisation. Aborts it when the connection closes. */
const whileQuerying = <T>({ request, caller }: QueryInput, callback: (signal: AbortSignal) => Promise<T>): Promise<T> =>
  runWhileConnected(
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
    callback,
  )

/**
 * Returns the warehouse of the organisation. First checks the query: throws 422 if the query uses an unqualified table
 * name that exists in several schemas, unless the request gives the order of the schemas.
 */
async function openWarehouse(
  { caller, warehouses }: QueryInput,
  { query, hasSchemaOrder }: PreparedQuery,
  signal: AbortSignal,
): Promise<Warehouse> {
  const warehouse = await warehouses.open(caller.client)
  const sentence = hasSchemaOrder ? undefined : await createAmbiguousTableRefusal(warehouse)(query, signal)
  if (sentence !== undefined) throw problems.refused('/sql', sentence)
  return warehouse
}

/** A query in the form that the warehouse gets, before limits are added. */
interface PreparedQuery {
  query: Pick<UserQuery, 'text' | 'schemas' | 'toUserPosition'>
  /** Whether the request lists schemas. Their order then decides which table an unqualified name means. */
  hasSchemaOrder: boolean
}

type PrepareInput = Pick<RequestContext, 'db' | 'caller' | 'keyRing'> & { body: ExplainBody }

/** The maximum length in characters of a query in which variables are replaced by their values. */
const maxLength = 1_000_000

/**
 * Finds the schemas of a query and inserts the values of its variables. Throws 422 for an unknown schema or variable.
 */
async function prepareQuery(input: PrepareInput): Promise<PreparedQuery> {
  const { body } = input
  if (body.sql.trim() === '') throw problems.refused('/sql', 'The query must not be blank.')
  const schemas = await findSchemas(input)
  const sqlParts = await insertVariables(input, schemas)
  const toUserPosition: UserQuery['toUserPosition'] = (position) => findUserPosition(sqlParts, position)
  const text = trimStatementEnd(sqlParts.map(({ sent }) => sent).join(''))
  const query = { text, schemas: schemas.map(({ schema_name }) => schema_name), toUserPosition }
  return { query, hasSchemaOrder: body.schemas !== undefined }
}

interface QueriedSchema {
  uid: string
  name: string
  schema_name: string
  provider_schema: string
}

/**
 * Returns the schemas in the order of the request. If it lists none, returns all schemas of the organisation, sorted by
 * name.
 */
async function findSchemas({ db, caller, body }: PrepareInput): Promise<QueriedSchema[]> {
  const all = await db
    .selectFrom('schemas')
    .select(['uid', 'name', 'schema_name', 'provider_schema'])
    .where('client', '=', caller.client)
    .orderBy('schema_name')
    .execute()
  if (!body.schemas) return all.filter(({ provider_schema }) => provider_schema !== 'NA')
  return body.schemas.map(({ id }, index) => {
    const schema = all.find(({ uid }) => uid === id.toLowerCase())
    const pointer = `/schemas/${index}/id`
    if (!schema) throw problems.refused(pointer, `No schema that you may see has the id ${id}. Choose another schema.`)
    if (schema.provider_schema === 'NA')
      throw problems.refused(
        pointer,
        `The schema "${schema.name}" has no warehouse: its providerSchema is NA. Choose another schema.`,
      )
    return schema
  })
}

/** The advice for an unknown variable. */
const unknownVariableAdvice = 'Create it, correct its name, or pass its value in `variables`.'

/**
 * Splits the query at its variables, and replaces each variable by its value. Secured variables have a value only if
 * the request sends one, because the result would reveal a stored value.
 */
async function insertVariables(input: PrepareInput, schemas: readonly QueriedSchema[]): Promise<ReplacedPart[]> {
  const { body } = input
  const languages = new Set(schemas.map(({ provider_schema }) => getWarehouseLanguage(provider_schema)))
  const language: SqlLanguage = [...languages][0] ?? 'postgres'
  const usedNames = findVariablesInSql(body.sql, language)
  assertAllUsed(body.variables ?? [], usedNames)
  if (usedNames.size === 0) return [{ userText: body.sql, sent: body.sql }]
  if (languages.size > 1)
    throw problems.refused(
      '/schemas',
      'The schemas of your organisation are in several kinds of warehouses, which write values differently. Send the schemas of one kind in `schemas`, or use no variables.',
    )
  const variables = await readUsableVariables(input, usedNames)
  return collectParts(replaceSqlVariables(body.sql, variables, language, unknownVariableAdvice))
}

/** Throws 422 if the query does not use one of the sent variables. */
function assertAllUsed(sentVariables: readonly { name: string }[], usedNames: ReadonlySet<string>): void {
  const unusedIndex = sentVariables.findIndex(({ name }) => !usedNames.has(name))
  if (unusedIndex === -1) return
  throw problems.refused(
    `/variables/${unusedIndex}/name`,
    `The query does not use \${${sentVariables[unusedIndex]!.name.slice(0, 100)}}. Correct the name, or leave it out.`,
  )
}

/** Reads the variables without the stored values of secured ones. Throws 422 if the query uses such a value. */
async function readUsableVariables({ db, caller, keyRing, body }: PrepareInput, usedNames: ReadonlySet<string>) {
  const sentVariables = body.variables ?? []
  const sentNames = new Set(sentVariables.map(({ name }) => name))
  const variables = await readVariables(db, caller.client, keyRing, sentVariables)
  const isForbidden = (name: string) => variables.isSecured(name) && !sentNames.has(name)
  const forbiddenName = [...usedNames].find(isForbidden)
  if (forbiddenName !== undefined)
    throw problems.refused(
      '/sql',
      `The variable \${${forbiddenName.slice(0, 100)}} is secured, and a query could show its value. Pass a value in \`variables\`, or use another variable.`,
    )
  for (const name of variables.keys()) if (isForbidden(name)) variables.delete(name)
  return variables
}

/** Returns the parts of a query. Throws 422 as soon as they are longer than `maxLength`. */
function collectParts(parts: Iterable<ReplacedPart>): ReplacedPart[] {
  const collected: ReplacedPart[] = []
  let length = 0
  for (const part of parts) {
    collected.push(part)
    length += part.sent.length
    if (length > maxLength)
      throw problems.refused(
        '/sql',
        `With the values of its variables, the query is longer than ${maxLength.toLocaleString('en')} characters. Shorten it.`,
      )
  }
  return collected
}

export const queryOperations = {
  run: definePipelineOperation(signatures.run, runQuery),
  explain: definePipelineOperation(signatures.explain, explainQuery),
}
