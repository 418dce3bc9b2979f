import { findAmbiguousTable, type ResolvedQuery, resolveNames, uniquePlaces } from '../sql-text/resolve-table-names.ts'
import {
  acquireQuerySlot,
  assertNoNulCharacter,
  clampLimit,
  defaultQueryBytes,
  defaultQuerySeconds,
  limitRows,
  maxQueryRows,
  pageTooLarge,
  resolvePageLimits,
  resolveExportLimits,
  resolveQueryLimits,
  rowTooLarge,
} from '../query-limits.ts'
import { trimStatementEnd } from '../sql-text/sql-tokens.ts'
import { uniqueNames } from '../sql-text/check-identifier.ts'
import type { TablePlace } from '../catalog.ts'
import {
  type AmbiguousTable,
  type RowCell,
  type ReadLimits,
  type QueryRows,
  type UserQuery,
  type WarehouseColumn,
  WarehouseProblem,
} from '../warehouse.ts'
import type { ExportSource, QueryPlan, QueryRunner, RowExport, RowTextFormat } from '../query-runner.ts'
import { approximateJsonBytes, parseJsonColumns } from '../rows/json-cell.ts'
import { writeRowText } from '../rows/csv-and-ndjson.ts'
import type { SqlSessions } from './sql-sessions.ts'
import type { NewColumn, SqlDialect, ReadColumn, SqlSession } from './sql-dialect.ts'
import { queryProblemOf, tooSlow } from './map-server-errors.ts'
import { retryOnMissingTable, recoverPending } from './publication-recovery.ts'
import {
  createFillableTable,
  describeColumn,
  hiddenName,
  listRelations,
  listSchemas,
  placeKey,
  quotePlace,
  readShape,
  type TableSubstitutes,
  withSession,
} from './table-shape.ts'
import { randomUUID } from 'node:crypto'
import { deleteMetadata } from './publication-ledger.ts'

/** The maximum number of rows in one batch from the server. */
const batchRows = 2_000

export function sqlQueries({ dialect, runOnServer, parsePlace }: SqlSessions): QueryRunner {
  /** The key under which the warehouse's queries share query slots. */
  const slotKey = randomUUID()
  return {
    async query(request, signal) {
      using _slot = await acquireQuerySlot('queries', slotKey, signal)
      return await runOnServer('the warehouse', () => runUserQuery(dialect, request, signal))
    },
    async *queryPages(request, pageRows, signal) {
      using _slot = await acquireQuerySlot('pushes', slotKey, signal)
      // Prepares the warehouse on its first use and translates errors of that step. The generator translates its own
      // errors.
      await runOnServer('the warehouse', async () => {})
      yield* queryPages(dialect, request, pageRows, signal)
    },
    exportRows: (source, format, signal) =>
      runOnServer('the warehouse', () => exportRows(dialect, source, format, signal)),
    async readTable(schema, table, page, limits) {
      const place = parsePlace(schema, table)
      return runOnServer(quotePlace(place), () => readTable(dialect, place, page, limits))
    },
    findAmbiguousTable: (request, preferredCount) =>
      runOnServer('the warehouse', () => findAmbiguousTableOfQuery(dialect, request, preferredCount)),
    async explain(request, signal) {
      using _slot = await acquireQuerySlot('queries', slotKey, signal)
      return await runOnServer('the warehouse', () => readQueryPlan(dialect, request, signal))
    },
  }
}

/**
 * Prepares a user's query for the server and finds the tables that it reads. The text changes as follows:
 *
 * - A semicolon at the end is removed.
 * - Table names are rewritten to those of the server, unless the server resolves unqualified names itself.
 * - With `substitutes`, table names are rewritten in any case, and these tables are replaced by others.
 * - With `literals`, the values become part of the SQL, for a query that is stored or that another user runs.
 */
export async function prepareQuery(
  dialect: SqlDialect,
  { text, values = [], schemas = [] }: UserQuery,
  { literals = false, substitutes }: { literals?: boolean; substitutes?: TableSubstitutes } = {},
): Promise<ResolvedQuery> {
  assertNoNulCharacter(text)
  const relations = await withSession(dialect, { role: 'service' }, async (session) =>
    listRelations(dialect, session, [...schemas, ...(await listSchemas(dialect, session))]),
  )
  const { language, names } = dialect
  const rewritesNames = dialect.bareNames === 'REWRITTEN' || substitutes !== undefined
  const trimmedText = trimStatementEnd(text)
  /** Returns the value of the parameter `$number` as an SQL literal. */
  const formatParameter = (number: number) => {
    const value = values[number - 1]
    return value === undefined ? undefined : names.literal(value)
  }
  const resolvedQuery = resolveNames(trimmedText, {
    schemas,
    relations,
    qualifiesAllTables: rewritesNames,
    ...(language && { language }),
    address: (place: TablePlace) => names.place(substitutes?.get(placeKey(place)) ?? place),
    ...(literals && { parameter: formatParameter }),
  })
  // Otherwise the text is sent as it is, and only the list of tables is needed.
  const usesResolvedText = rewritesNames || literals
  return usesResolvedText ? resolvedQuery : { ...resolvedQuery, text: trimmedText }
}

/** Runs a user's query and returns its rows within the limits of rows, bytes and seconds. */
async function runUserQuery(dialect: SqlDialect, userQuery: UserQuery, signal?: AbortSignal): Promise<QueryRows> {
  signal?.throwIfAborted()
  const { limits, values = [], schemas = [] } = userQuery
  const { seconds, offset, ...queryLimits } = resolveQueryLimits(limits)
  const timeoutSignal = AbortSignal.timeout(seconds * 1_000)
  const stopSignal = signal ? AbortSignal.any([signal, timeoutSignal]) : timeoutSignal
  try {
    const sessionOptions = { role: 'read', schemas, signal: stopSignal, seconds } as const
    return await retryOnMissingTable(dialect, async () => {
      const { text } = await prepareQuery(dialect, userQuery)
      return withSession(dialect, sessionOptions, (session) =>
        readRows(session, { text, values, offset, limits: queryLimits }),
      )
    })
  } catch (error) {
    signal?.throwIfAborted()
    if (timeoutSignal.aborted) throw tooSlow(seconds)
    throw queryProblemOf(dialect, error, userQuery, seconds)
  }
}

interface QueryWindow {
  text: string
  values: readonly (string | null)[]
  offset: number
  limits: { rows: number; bytes: number }
}

/**
 * Skips `offset` rows, then returns at most `limits.rows` rows, or as many as fit into `limits.bytes` (`truncated`).
 * Throws if the first row alone is too large. The remaining rows are not fetched; `more` says whether there are any.
 */
export async function readRows(
  session: SqlSession,
  { text, values, offset, limits }: QueryWindow,
): Promise<QueryRows & { more: boolean }> {
  let columns: WarehouseColumn[] = []
  const rows: RowCell[][] = []
  let skippedRows = 0
  let usedBytes = 0
  // One row more than the limit shows whether the query has further rows.
  const rowsPerBatch = Math.min(batchRows, limits.rows + 1)
  const batchLimits = { rows: rowsPerBatch, bytes: () => Math.max(1, limits.bytes - usedBytes) }
  for await (const rowBatch of session.read(text, values, batchLimits)) {
    columns = resultColumns(rowBatch.columns)
    for (const row of rowBatch.rows) {
      if (skippedRows < offset) {
        skippedRows += 1
        continue
      }
      if (rows.length === limits.rows) return { columns, rows, truncated: false, more: true }
      // The size of a single row is known exactly if the batch has only this row.
      usedBytes += rowBatch.rows.length === 1 ? rowBatch.bytes : approximateJsonBytes(row)
      if (usedBytes > limits.bytes) {
        if (rows.length === 0) throw rowTooLarge(limits.bytes)
        return { columns, rows, truncated: true, more: true }
      }
      rows.push(row)
    }
  }
  return { columns, rows, truncated: false, more: false }
}

/** Returns the result columns with unique names. Their labels keep the original, perhaps repeated names. */
export function resultColumns(columns: readonly ReadColumn[]): WarehouseColumn[] {
  const names = uniqueNames(columns.map(({ name }) => name))
  return columns.map(({ name, dataType, precision, scale }, index) => ({
    name: names[index]!,
    label: name,
    dataType,
    ...(precision !== undefined && { precision }),
    ...(scale !== undefined && { scale }),
    primaryKey: false,
  }))
}

/** See `QueryRunner.readTable`. Reads in the order of the key, or in the server's order if the table has no key. */
async function readTable(
  dialect: SqlDialect,
  place: TablePlace,
  page: { limit: number; offset: number },
  { seconds = defaultQuerySeconds, signal }: ReadLimits = {},
): Promise<QueryRows> {
  signal?.throwIfAborted()
  const shape = await withSession(dialect, { role: 'service' }, async (session) => {
    await recoverPending(dialect, session)
    return readShape(dialect, session, place)
  })
  if (!shape) throw new WarehouseProblem('TABLE_MISSING', `${quotePlace(place)} does not exist. Load it first.`)
  const columns = shape.columns.map((column) => describeColumn(dialect, column))
  const limit = clampLimit(page.limit, maxQueryRows, 0)
  const text = dialect.page(
    place,
    shape.columns.map(({ name }) => name),
    {
      limit,
      offset: Math.max(0, page.offset),
      order: shape.columns.filter(({ primaryKey }) => primaryKey).map(({ name }) => name),
    },
  )
  const limits = { rows: limit, bytes: defaultQueryBytes }
  const tablePage = await retryOnMissingTable(dialect, () =>
    withSession(dialect, { role: 'read', seconds, signal }, (session) =>
      readRows(session, { text, values: [], offset: 0, limits }),
    ),
  )
  return { columns, rows: tablePage.rows.map((row) => parseJsonColumns(row, columns)), truncated: tablePage.truncated }
}

/** See `QueryRunner.exportRows`. The server sends values in batches, and this process formats them as text. */
async function exportRows(
  dialect: SqlDialect,
  source: ExportSource,
  format: RowTextFormat,
  signal: AbortSignal,
): Promise<RowExport> {
  await using resources = new AsyncDisposableStack()
  const query: UserQuery = 'query' in source ? source.query : { text: '', limits: { seconds: source.seconds } }
  const { schemas = [] } = query
  const { seconds, rows: limit } = resolveExportLimits(query.limits)
  const toProblem = (error: unknown) => {
    signal.throwIfAborted()
    return queryProblemOf(dialect, error, query, seconds)
  }
  try {
    const openedExport = await retryOnMissingTable(dialect, async () => {
      const { text, columns } =
        'table' in source
          ? await readTableSource(dialect, source.table)
          : { text: (await prepareQuery(dialect, query)).text, columns: undefined }
      await using openingStack = new AsyncDisposableStack()
      const session = openingStack.use(await dialect.open({ role: 'read', schemas, signal, seconds }))
      const read = session.read(text, [], { rows: batchRows, bytes: () => defaultQueryBytes })
      const batches = read[Symbol.asyncIterator]()
      // Errors before the first row are thrown here, so that the API can still respond with an error status.
      const firstBatch = await batches.next()
      return { columns, batches, first: firstBatch, session: openingStack.move() }
    })
    resources.use(openedExport.session)
    const { batches, first: firstBatch } = openedExport
    const columns = openedExport.columns ?? resultColumns(firstBatch.done ? [] : firstBatch.value.columns)
    async function* rows() {
      try {
        let rowsLeft = limit
        for (let batch = firstBatch; !batch.done && rowsLeft > 0; batch = await batches.next()) {
          const includedRows = batch.value.rows.slice(0, rowsLeft)
          rowsLeft -= includedRows.length
          yield includedRows.map((row) => parseJsonColumns(row, columns))
        }
      } catch (error) {
        throw toProblem(error)
      }
    }
    const openResources = resources.move()
    return {
      columns,
      ...writeRowText(rows(), columns, format),
      [Symbol.asyncDispose]: () => openResources.disposeAsync(),
    }
  } catch (error) {
    throw toProblem(error)
  }
}

/** Returns the query that exports a table, and the table's columns. Throws TABLE_MISSING. */
async function readTableSource(
  dialect: SqlDialect,
  place: TablePlace,
): Promise<{ text: string; columns: WarehouseColumn[] }> {
  const shape = await withSession(dialect, { role: 'service' }, async (session) => {
    await recoverPending(dialect, session)
    return readShape(dialect, session, place)
  })
  if (!shape) throw new WarehouseProblem('TABLE_MISSING', `${quotePlace(place)} does not exist. Load it first.`)
  const columnList = shape.columns.map(({ name }) => dialect.names.quoted(name)).join(', ')
  return {
    text: `select ${columnList} from ${dialect.names.place(place)}`,
    columns: shape.columns.map((column) => describeColumn(dialect, column)),
  }
}

/** See `QueryRunner.findAmbiguousTable`. Checks the unqualified names of the query against its schemas. */
async function findAmbiguousTableOfQuery(
  dialect: SqlDialect,
  userQuery: UserQuery,
  preferredCount: number,
): Promise<AmbiguousTable | undefined> {
  const schemas = userQuery.schemas ?? []
  const { unqualifiedNames } = await prepareQuery(dialect, userQuery)
  const relations = await withSession(dialect, { role: 'service' }, (session) =>
    listRelations(dialect, session, schemas),
  )
  return findAmbiguousTable(unqualifiedNames, relations, schemas, preferredCount)
}

/** See `QueryRunner.explain`. */
async function readQueryPlan(dialect: SqlDialect, userQuery: UserQuery, signal: AbortSignal): Promise<QueryPlan> {
  const seconds = defaultQuerySeconds
  try {
    return await retryOnMissingTable(dialect, async () => {
      const { text, reads } = await prepareQuery(dialect, userQuery)
      const sessionOptions = { role: 'read', schemas: userQuery.schemas ?? [], signal, seconds } as const
      const plan = await withSession(dialect, sessionOptions, (session) => {
        if (!session.plan)
          throw new WarehouseProblem(
            'NOT_SUPPORTED_HERE',
            'Sluice cannot show query plans of this warehouse. Use a tool of the warehouse instead.',
          )
        return session.plan(text)
      })
      // The first line of a plan has the estimate for the whole result, such as `rows=120`.
      const [, estimate] = /\brows=(\d+)/.exec(plan) ?? []
      return {
        text: plan,
        reads: uniquePlaces(reads),
        ...(estimate !== undefined && { estimatedRows: Number(estimate) }),
      }
    })
  } catch (error) {
    signal.throwIfAborted()
    throw queryProblemOf(dialect, error, userQuery, seconds)
  }
}

/** The name of the column with each row's position in the query's order. */
const positionColumn = 'n'
/**
 * Seconds after which a maintenance sweep may drop a stored result: the time that the slowest reader may take for all
 * pages.
 */
const pageReaderSeconds = 14_400

/**
 * See `QueryRunner.queryPages`. A hidden table stores the result, so all pages show the same result and readers do not
 * block loads.
 */
async function* queryPages(
  dialect: SqlDialect,
  userQuery: UserQuery,
  pageRows: number,
  signal: AbortSignal,
): AsyncGenerator<QueryRows> {
  const { schemas = [] } = userQuery
  const { seconds, ...limits } = resolvePageLimits(pageRows, userQuery.limits)
  const service = { role: 'service' } as const
  /** Set before the table is created, because even a failed request may have created it. */
  let createdTable: TablePlace | undefined
  let createdId: string | undefined
  try {
    const schema = schemas[0] ?? (await withSession(dialect, service, (session) => listSchemas(dialect, session)))[0]
    if (schema === undefined)
      throw new WarehouseProblem(
        'QUERY_FAILED',
        'The warehouse has no schema to query yet. Create a schema and load a table first.',
      )
    const resultTable = { schema, name: hiddenName('pages', randomUUID()) }
    const { text, columns } = await retryOnMissingTable(dialect, async () => {
      const { text: preparedText } = await prepareQuery(dialect, userQuery, { literals: true })
      return { text: preparedText, columns: await readColumns(dialect, preparedText, { schemas, signal, seconds }) }
    })
    const { fillQuery, tableColumns, readQuery } = planResultTable(dialect, resultTable, { text, columns })
    createdTable = resultTable
    createdId = await withSession(dialect, service, (session) =>
      createFillableTable(dialect, session, resultTable, tableColumns, {
        kind: 'PASSING',
        until: Date.now() + (seconds + pageReaderSeconds) * 1_000,
      }),
    )
    const storedNames = tableColumns.map(({ name }) => name)
    await retryOnMissingTable(dialect, () =>
      withSession(dialect, { role: 'load', schemas, signal, seconds }, async (session) => {
        for (const statement of dialect.changes.insert(resultTable, storedNames, fillQuery))
          await session.execute(statement)
      }),
    )
    yield* readPages(dialect, { text: readQuery, columns, limits }, signal)
  } catch (error) {
    signal.throwIfAborted()
    throw queryProblemOf(dialect, error, userQuery, seconds)
  } finally {
    if (createdTable) await dropPagesTable(dialect, createdTable, createdId).catch(() => {})
  }
}

/**
 * Plans the table that stores the result of a query in the columns `c1`, `c2`, …. If the table would not preserve the
 * query's order, it also stores each row's position. Returns the query that fills the table, the table's columns, and
 * the query that reads the result in its order.
 */
function planResultTable(
  dialect: SqlDialect,
  place: TablePlace,
  { text, columns }: { text: string; columns: readonly ReadColumn[] },
): { fillQuery: string; tableColumns: NewColumn[]; readQuery: string } {
  const { names, types } = dialect
  const valueColumns = columns.map(({ type }, index) => ({ name: `c${index + 1}`, type, nullable: true }))
  const columnList = valueColumns.map(({ name }) => names.quoted(name)).join(', ')
  const readQuery = `select ${columnList} from ${names.place(place)}`
  const numberedText = dialect.numberRows?.(text, columns)
  if (numberedText === undefined) return { fillQuery: text, tableColumns: valueColumns, readQuery }
  const position = { name: positionColumn, type: types.sqlType({ dataType: 'BIGINT' }), nullable: true }
  return {
    fillQuery: numberedText,
    tableColumns: [...valueColumns, position],
    readQuery: `${readQuery} order by ${names.quoted(positionColumn)}`,
  }
}

/** Returns the result columns of a query, which runs as role `read`. Throws QUERY_FAILED if it has no columns. */
export async function readColumns(
  dialect: SqlDialect,
  text: string,
  opening: { schemas: readonly string[]; signal: AbortSignal; seconds: number },
): Promise<readonly ReadColumn[]> {
  const columns = await withSession(dialect, { role: 'read', ...opening }, (session) => session.columns(text))
  if (columns.length === 0)
    throw new WarehouseProblem('QUERY_FAILED', 'The query returns no columns. Select at least one.')
  return columns
}

/** Drops the table with a stored result. `id` is its object id, or undefined if it may not have been created. */
function dropPagesTable(dialect: SqlDialect, place: TablePlace, id: string | undefined): Promise<void> {
  return withSession(dialect, { role: 'service' }, async (session) => {
    await session.execute(dialect.changes.dropTable(place))
    if (id !== undefined) await deleteMetadata(dialect, session, id)
  })
}

interface PagedResult {
  text: string
  columns: readonly ReadColumn[]
  limits: Omit<ReturnType<typeof resolvePageLimits>, 'seconds'>
}

/**
 * Yields the rows in pages: skips `offset` rows and yields up to `rows` in total. Throws if a page exceeds the byte
 * limit.
 */
async function* readPages(
  dialect: SqlDialect,
  { text, columns, limits: { pageRows: pageSize, rows, offset, bytes: maxPageBytes } }: PagedResult,
  signal: AbortSignal,
): AsyncGenerator<QueryRows> {
  await using session = await dialect.open({ role: 'read', signal })
  const batches = session.read(text, [], { rows: pageSize, bytes: () => maxPageBytes })
  const resultColumnList = resultColumns(columns)
  const createPage = (pageRows: RowCell[][], hasMore: boolean): QueryRows => ({
    columns: resultColumnList,
    rows: pageRows,
    truncated: false,
    more: hasMore,
  })
  let page: RowCell[][] = []
  // The approximate size of `page`.
  let pageBytes = 0
  for await (const batch of limitRows(batches, { offset, rows })) {
    for (const row of batch.rows) {
      // A complete page is yielded only when another row follows, so that `more` is correct.
      if (page.length === pageSize) {
        yield createPage(page, true)
        page = []
        pageBytes = 0
      }
      page.push(row)
      pageBytes += batch.bytesPerRow
    }
    const isPageComplete = page.length >= pageSize
    if (pageBytes > maxPageBytes && !isPageComplete) throw pageTooLarge(pageSize, maxPageBytes)
  }
  if (page.length > 0) yield createPage(page, false)
}
