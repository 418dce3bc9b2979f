import { type ResolvedQuery, findAmbiguousTable, resolveNames, uniquePlaces } from '../sql-text/resolve-table-names.ts'
import {
  acquireQuerySlot,
  assertNoNulCharacter,
  clampLimit,
  defaultQueryBytes,
  defaultQuerySeconds,
  maxQueryRows,
  pageTooLarge,
  resolvePageLimits,
  resolveExportLimits,
  resolveQueryLimits,
  rowTooLarge,
} from '../query-limits.ts'
import { randomUUID } from 'node:crypto'
import { trimStatementEnd } from '../sql-text/sql-tokens.ts'
import {
  type AmbiguousTable,
  type ReadLimits,
  type QueryRows,
  type RowCell,
  type UserQuery,
  type WarehouseColumn,
  WarehouseProblem,
} from '../warehouse.ts'
import type { ClientAccess } from './clickhouse-settings.ts'
import type { ExportSource, QueryPlan, QueryRunner, RowExport, RowTextFormat } from '../query-runner.ts'
import { writeRowText } from '../rows/csv-and-ndjson.ts'
import type { ClickHouseServer } from './clickhouse-server.ts'
import type { TablePlace } from '../catalog.ts'
import { executeStatement, sendStatement, stopAtServer } from './protocol/http-client.ts'
import {
  checkSchemaName,
  checkTableName,
  databaseOf,
  temporaryComment,
  qualifyName,
  quoteIdentifier,
  quotePlace,
  shownPrefix,
} from './sql-identifiers.ts'
import { queryProblem, tooSlow, warehouseProblem } from './map-server-errors.ts'
import { exactNumberSettings, resultFormat, openResult, type OpenResult, takeRows } from './protocol/query-result.ts'
import { type ClickHouseShape, describeColumn, hasRows, listRelations, listSchemas, readShape } from './table-shape.ts'

/**
 * Seconds after the query's time limit. The server should stop the query by itself before they pass; otherwise this
 * process stops it.
 */
const graceSeconds = 5

/**
 * Returns the query functions of a ClickHouse warehouse. Each user's query and each push of query results to another
 * system waits for a free slot.
 */
export function clickHouseQueries({ access, ensureProvisioned, runOnServer }: ClickHouseServer): QueryRunner {
  const slotKey = `clickhouse ${access.key}`
  return {
    async query(request, signal) {
      using _slot = await acquireQuerySlot('queries', slotKey, signal)
      return await runOnServer('the warehouse', () => runUserQuery(access, request, signal))
    },
    async *queryPages(request, pageRows, signal) {
      using _slot = await acquireQuerySlot('pushes', slotKey, signal)
      await ensureProvisioned()
      yield* queryPages(access, request, pageRows, signal)
    },
    exportRows: (source, format, signal) =>
      runOnServer('the warehouse', () => exportRows(access, source, format, signal)),
    readTable: (schema, table, page, limits) =>
      runOnServer('the warehouse', () => readTable(access, { schema, table }, page, limits)),
    findAmbiguousTable: (request, preferredCount) =>
      runOnServer('the warehouse', () => findAmbiguousTableOfQuery(access, request, preferredCount)),
    async explain(request, signal) {
      using _slot = await acquireQuerySlot('queries', slotKey, signal)
      return await runOnServer('the warehouse', () => readQueryPlan(access, request, signal))
    },
  }
}

/**
 * Returns a SELECT of all rows of the query, to which other clauses can be added. The query begins on the second line,
 * so line numbers in the server's errors are one too high.
 */
const selectFrom = (query: string): string => `select * from (\n${query}\n)`

/**
 * Rewrites a user's query for the server: `schema.table` becomes `database.table`, and `$1` becomes a parameter with a
 * type, such as `{v1:Int64}`. Returns the new query with the values of its parameters, and the database in which it
 * runs. With `qualifiesAllTables`, every table name is qualified with its database, so the query means the same in
 * every database.
 */
export async function prepareQuery(
  access: ClientAccess,
  { text, values = [], texts: textIndexes, schemas = [] }: UserQuery,
  { qualifiesAllTables = false } = {},
): Promise<ResolvedQuery & { database: string; parameters: Record<string, string | null> }> {
  assertNoNulCharacter(text)
  const existingSchemas = await listSchemas(access)
  const relations = await listRelations(access, [...new Set([...schemas, ...existingSchemas])])
  const parameters: Record<string, string | null> = {}
  const resolvedQuery = resolveNames(trimStatementEnd(text), {
    schemas,
    relations,
    qualifiesAllTables,
    address: ({ schema, name }) => qualifyName(databaseOf({ key: access.key, schema }), name),
    // `resolveNames` calls this for each `$number` in the query, and replaces it by the result.
    parameter(number) {
      const value = values[number - 1]
      if (value === undefined) return undefined
      parameters[`v${number}`] = value
      const isText = value !== null && textIndexes?.has(number - 1)
      return `{v${number}:${isText ? 'String' : parameterType(value)}}`
    },
  })
  const isPreview = (schema: string) => schema.startsWith(shownPrefix(access.key))
  // The server rejects a default database that does not exist. A staged-rows preview exists, although it is not listed
  // as a schema.
  const defaultSchema = schemas.find((schema) => existingSchemas.includes(schema) || isPreview(schema))
  const database = defaultSchema === undefined ? 'system' : databaseOf({ key: access.key, schema: defaultSchema })
  return { ...resolvedQuery, parameters, database }
}

/** Runs a user's query and returns its rows. See `QueryRunner.query`. */
async function runUserQuery(access: ClientAccess, userQuery: UserQuery, signal?: AbortSignal): Promise<QueryRows> {
  const { rows, offset, bytes, seconds } = resolveQueryLimits(userQuery.limits)
  const { text, parameters, database } = await prepareQuery(access, userQuery).catch((error: unknown) => {
    throw queryProblem(error, userQuery, seconds)
  })
  // One more row than the limit shows whether the query has further rows.
  const sql = `${selectFrom(text)} limit ${rows + 1} offset ${offset} format ${resultFormat}`
  const result = await streamQuery(
    access,
    { sql, parameters, database, seconds, limits: { rows, bytes } },
    signal,
  ).catch((error: unknown) => {
    signal?.throwIfAborted()
    throw queryProblem(error, userQuery, seconds)
  })
  const isFirstRowTooLarge = result.truncated && result.rows.length === 0
  if (isFirstRowTooLarge) throw rowTooLarge(bytes)
  return result
}

interface ReadRequest {
  sql: string
  parameters?: Record<string, string | null>
  database?: string
  seconds: number
  limits: { rows: number; bytes: number }
  /** The result columns. Set if the caller knows their types more exactly than the server reports them. */
  columns?: readonly WarehouseColumn[]
}

/** Runs a query as role `read` and streams its rows. If `signal` aborts, the query also stops at the server. */
async function streamQuery(
  access: ClientAccess,
  { limits, columns, ...request }: ReadRequest,
  signal?: AbortSignal,
): Promise<QueryRows & { more: boolean }> {
  const startedQuery = startQuery(access, request, signal)
  try {
    return await takeRows(await startedQuery.response, limits, columns)
  } catch (error) {
    throw await startedQuery.handleFailure(error)
  }
}

/**
 * Sends a query as role `read`. If reading the response fails, call the returned `handleFailure`: it returns the error
 * to throw. If the caller aborted or the time limit has passed, it first stops the query at the server.
 */
function startQuery(
  access: ClientAccess,
  { sql, parameters = {}, database, seconds }: Omit<ReadRequest, 'limits' | 'columns'>,
  signal?: AbortSignal,
) {
  signal?.throwIfAborted()
  const timeoutSignal = AbortSignal.timeout((seconds + graceSeconds) * 1_000)
  const queryId = randomUUID()
  const response = sendStatement(access.read, sql, {
    parameters,
    database,
    queryId,
    signal: signal ? AbortSignal.any([signal, timeoutSignal]) : timeoutSignal,
    settings: {
      ...exactNumberSettings,
      // The query may change settings, but no data.
      readonly: 2,
      max_execution_time: seconds,
      // 0 means unlimited. This process stops reading at its own limit.
      max_result_rows: 0,
      cancel_http_readonly_queries_on_client_close: 1,
    },
  })
  return {
    response,
    async handleFailure(error: unknown): Promise<unknown> {
      if (signal?.aborted || timeoutSignal.aborted) await stopAtServer(access.service, queryId)
      return timeoutSignal.aborted ? tooSlow(seconds) : error
    },
  }
}

/** The maximum size of a query plan, in lines and bytes. */
const planLimits = { rows: maxQueryRows, bytes: defaultQueryBytes }

/**
 * The time limit of planning, in seconds. ClickHouse computes scalar subqueries during planning and no setting prevents
 * that, so planning could otherwise take as long as the query.
 */
const planSeconds = 5

/** Returns the server's plan of a query, and the tables that the query reads. See `QueryRunner.explain`. */
async function readQueryPlan(access: ClientAccess, userQuery: UserQuery, signal: AbortSignal): Promise<QueryPlan> {
  try {
    const { text, parameters, database, reads } = await prepareQuery(access, userQuery)
    const sql = `explain ${selectFrom(text)} format ${resultFormat}`
    const request = { sql, parameters, database, seconds: planSeconds, limits: planLimits }
    const { rows } = await streamQuery(access, request, signal)
    return { text: rows.map(([line]) => line as string).join('\n'), reads: uniquePlaces(reads) }
  } catch (error) {
    signal.throwIfAborted()
    const problem = queryProblem(error, userQuery, planSeconds)
    const isTimeout = problem instanceof WarehouseProblem && problem.code === 'QUERY_TIMEOUT'
    if (!isTimeout) throw problem
    throw new WarehouseProblem(
      'QUERY_TIMEOUT',
      'ClickHouse computes subqueries that are single values before it plans a query, and those of this query take longer than five seconds. Write a value instead of such a subquery.',
      { cause: problem },
    )
  }
}

/** The maximum number of rows in one chunk of text. */
const batchRows = 2_000

/**
 * Exports the rows of a table or query as text. See `QueryRunner.exportRows`. The server sends values, and this process
 * formats them.
 */
async function exportRows(
  access: ClientAccess,
  source: ExportSource,
  rowFormat: RowTextFormat,
  signal: AbortSignal,
): Promise<RowExport> {
  await using resources = new AsyncDisposableStack()
  // The export of a table has no user's query, but error messages and limits need one.
  const query: UserQuery = 'query' in source ? source.query : { text: '', limits: { seconds: source.seconds } }
  const { seconds } = resolveExportLimits(query.limits)
  const throwProblem = (error: unknown): never => {
    signal.throwIfAborted()
    throw queryProblem(error, query, seconds)
  }
  const readSource = async () =>
    'table' in source ? readTableSource(access, source.table) : readQuerySource(access, query)
  const { sql, database, columns: knownColumns } = await readSource().catch(throwProblem)
  const startedQuery = startQuery(access, { sql: `${sql} format ${resultFormat}`, database, seconds }, signal)
  const failQuery = async (error: unknown): Promise<never> => throwProblem(await startedQuery.handleFailure(error))
  // Errors before the first row are thrown here, so that the API can still respond with an error status.
  const result = await startedQuery.response.then((response) => openResult(response, knownColumns)).catch(failQuery)
  resources.use(result)
  async function* batches() {
    try {
      yield* readBatches(result)
    } catch (error) {
      await failQuery(error)
    }
  }
  const openResources = resources.move()
  return {
    columns: result.columns,
    ...writeRowText(batches(), result.columns, rowFormat),
    [Symbol.asyncDispose]: () => openResources.disposeAsync(),
  }
}

/** Yields the parsed rows of a result in batches. The last batch may be empty. */
async function* readBatches({ lines, parseRow }: OpenResult): AsyncGenerator<RowCell[][]> {
  let rows: RowCell[][] = []
  for await (const line of lines) {
    rows.push(parseRow(line))
    if (rows.length < batchRows) continue
    yield rows
    rows = []
  }
  yield rows
}

/** Returns the SQL that exports a table, and the table's columns. Throws TABLE_MISSING. */
async function readTableSource(access: ClientAccess, { schema, name }: TablePlace) {
  checkSchemaName(schema)
  checkTableName(name)
  const shape = await readShape(access.service, databaseOf({ key: access.key, schema }), name)
  if (!shape) throw new WarehouseProblem('TABLE_MISSING', `${quotePlace(schema, name)} does not exist. Load it first.`)
  const columnList = shape.columns.map((column) => quoteIdentifier(column.name)).join(', ')
  return {
    sql: `select ${columnList} from ${qualifyName(shape.database, name)}${orderByClause(shape)}`,
    database: undefined,
    columns: shape.columns.map(describeColumn),
  }
}

/** Returns the SQL that exports a query's result. The server reports the columns. */
async function readQuerySource(access: ClientAccess, query: UserQuery) {
  const { text, database } = await prepareQuery(access, query)
  const limit = query.limits?.rows === undefined ? '' : ` limit ${resolveExportLimits(query.limits).rows}`
  return { sql: `${selectFrom(text)}${limit}`, database, columns: undefined }
}

/**
 * Returns a table name in the query that has no schema and exists in several of the query's schemas after the first
 * `preferredCount`. Returns undefined if every name is unambiguous.
 */
async function findAmbiguousTableOfQuery(
  access: ClientAccess,
  userQuery: UserQuery,
  preferredCount: number,
): Promise<AmbiguousTable | undefined> {
  const { unqualifiedNames } = await prepareQuery(access, userQuery)
  const schemas = userQuery.schemas ?? []
  const relations = await listRelations(access, schemas)
  return findAmbiguousTable(unqualifiedNames, relations, schemas, preferredCount)
}

/**
 * Returns the ClickHouse type of a query parameter: a numeric type if the value is a number, so that the server
 * compares it as a number; otherwise text.
 */
function parameterType(value: string | null): string {
  if (value === null) return 'Nullable(String)'
  const isNumber = /^-?(0|[1-9]\d{0,30})(\.\d{1,30})?$/.test(value)
  if (!isNumber) return 'String'
  const [, fraction] = value.split('.')
  if (fraction !== undefined) return `Decimal(76, ${fraction.length})`
  const fitsInto64Bits = BigInt.asIntN(64, BigInt(value)) === BigInt(value)
  return fitsInto64Bits ? 'Int64' : 'Int256'
}

/**
 * Expressions that sort rows by insertion: the number of the part (the server's unit of storage) and the position in
 * it. The server's background merges preserve this order.
 */
const insertionOrder = [`toUInt64OrZero(splitByChar('_', _part)[2])`, '_part_offset']

/**
 * Returns the ORDER BY clause for reading a table: by its primary key, or in insertion order if it has no key. Returns
 * an empty text for a view.
 */
function orderByClause(shape: ClickHouseShape): string {
  if (!hasRows(shape)) return ''
  const keys = shape.columns.filter(({ primaryKey }) => primaryKey).map(({ name }) => quoteIdentifier(name))
  return ` order by ${(keys.length > 0 ? keys : insertionOrder).join(', ')}`
}

/** Reads a page of a table as role `read`. */
async function readTable(
  access: ClientAccess,
  { schema, table }: { schema: string; table: string },
  page: { limit: number; offset: number },
  { seconds = defaultQuerySeconds, signal }: ReadLimits = {},
): Promise<QueryRows> {
  checkSchemaName(schema)
  checkTableName(table)
  const qualifiedName = quotePlace(schema, table)
  try {
    const shape = await readShape(access.service, databaseOf({ key: access.key, schema }), table)
    if (!shape) throw new WarehouseProblem('TABLE_MISSING', `${qualifiedName} does not exist. Load it first.`)
    const rowLimit = clampLimit(page.limit, maxQueryRows, 0)
    const columnList = shape.columns.map(({ name }) => quoteIdentifier(name)).join(', ')
    const source = qualifyName(shape.database, table)
    const sql = `select ${columnList} from ${source}${orderByClause(shape)} limit ${rowLimit} offset ${Math.max(0, page.offset)} format ${resultFormat}`
    const columns = shape.columns.map(describeColumn)
    const result = await streamQuery(
      access,
      { sql, seconds, limits: { rows: rowLimit, bytes: defaultQueryBytes }, columns },
      signal,
    )
    const isFirstRowTooLarge = result.truncated && result.rows.length === 0
    if (isFirstRowTooLarge) throw rowTooLarge(defaultQueryBytes)
    return { columns, rows: result.rows, truncated: result.truncated }
  } catch (error) {
    signal?.throwIfAborted()
    throw warehouseProblem(error, qualifiedName)
  }
}

/** The time limit for reading one page of a stored result, in seconds. */
const pageSeconds = 60
/** The seconds that the slowest reader may take for all pages of a stored result. */
const pageReaderSeconds = 14_400

/**
 * See `QueryRunner.queryPages`. A temporary database stores the query result, so all pages show the same result and no
 * connection stays open between pages.
 */
async function* queryPages(
  access: ClientAccess,
  userQuery: UserQuery,
  pageRows: number,
  signal: AbortSignal,
): AsyncGenerator<QueryRows> {
  const { pageRows: pageSize, rows, offset: rowsToSkip, bytes, seconds } = resolvePageLimits(pageRows, userQuery.limits)
  const database = `${shownPrefix(access.key)}pages_${randomUUID()}`
  const resultTable = qualifyName(database, 'result')
  const queryId = randomUUID()
  try {
    const { text, parameters, database: queryDatabase } = await prepareQuery(access, userQuery)
    // If this process dies, maintenance drops the temporary database after this time.
    await executeStatement(
      access.service,
      `create database ${quoteIdentifier(database)} comment ${temporaryComment('pages', seconds + pageReaderSeconds)}`,
    )
    await executeStatement(
      access.load,
      `create table ${resultTable} engine = MergeTree order by tuple() as ${selectFrom(text)} offset ${rowsToSkip}`,
      {
        database: queryDatabase,
        parameters,
        signal,
        queryId,
        settings: { max_execution_time: seconds, max_insert_threads: 1 },
      },
    )
    const shape = (await readShape(access.service, database, 'result'))!
    let rowsLeft = rows
    let offset = 0
    while (rowsLeft > 0) {
      const rowsToRead = Math.min(pageSize, rowsLeft)
      const sql = `select * from ${resultTable}${orderByClause(shape)} limit ${rowsToRead} offset ${offset} format ${resultFormat}`
      const page = await streamQuery(access, { sql, seconds: pageSeconds, limits: { rows: rowsToRead, bytes } }, signal)
      if (page.truncated) throw pageTooLarge(rowsToRead, bytes)
      const hasMore = page.rows.length === rowsToRead
      if (page.rows.length > 0) yield { columns: page.columns, rows: page.rows, truncated: false, more: hasMore }
      if (!hasMore) return
      offset += page.rows.length
      rowsLeft -= page.rows.length
    }
  } catch (error) {
    if (signal.aborted) await stopAtServer(access.service, queryId)
    signal.throwIfAborted()
    throw queryProblem(error, userQuery, seconds)
  } finally {
    await executeStatement(access.service, `drop database if exists ${quoteIdentifier(database)}`).catch(() => {})
  }
}
