import type { QueryRunner } from '../query-runner.ts'
import {
  acquireQuerySlot,
  clampLimit,
  defaultQueryBytes,
  defaultQuerySeconds,
  maxQueryRows,
  pageTooLarge,
  resolvePageLimits,
  resolveQueryLimits,
  rowTooLarge,
} from '../query-limits.ts'
import { escapeIdentifier } from 'pg'
import { type ReadLimits, type QueryRows, type UserQuery, WarehouseProblem } from '../warehouse.ts'
import { type WarehouseAccess, destroySocket, readClient } from './postgres-connections.ts'
import { findAmbiguousTable, readQueryPlan } from './queries/query-planning.ts'
import {
  beginReading,
  endReadSession,
  executeSingleStatement,
  fetchRows,
  isInTransaction,
  takeSnapshot,
  toCells,
} from './queries/read-transaction.ts'
import { endSession, readWatch, sessionOf } from './queries/statement-watchdog.ts'
import { describeColumn } from './postgres-catalog.ts'
import { checkSchemaName, checkTableName, qualifyName } from './sql-identifiers.ts'
import { warehouseProblem } from './map-server-errors.ts'
import { exportRows } from './export-rows.ts'
import { cursorPrefix, openQuerySession, serverGraceSeconds } from './queries/query-session.ts'
import { resultColumns } from './queries/result-columns.ts'
import { readShapeAsReader } from './table-shape.ts'

/**
 * Returns the query functions of a PostgreSQL warehouse. Each user's query and each push of query results to another
 * system waits for a free slot.
 */
export const postgresQueries = (access: WarehouseAccess): QueryRunner => ({
  async query(request, signal) {
    using _slot = await acquireQuerySlot('queries', access.database, signal)
    return await runUserQuery(access, request, signal)
  },
  async *queryPages(request, pageRows, signal) {
    using _slot = await acquireQuerySlot('pushes', access.database, signal)
    yield* queryPages(access, request, pageRows, signal)
  },
  exportRows: (source, format, signal) => exportRows(access, source, format, signal),
  readTable: (schema, table, page, limits) => readTable(access, schema, table, page, limits),
  findAmbiguousTable: (request, preferredCount, signal) => findAmbiguousTable(access, request, preferredCount, signal),
  async explain(request, signal) {
    using _slot = await acquireQuerySlot('queries', access.database, signal)
    return await readQueryPlan(access, request, signal)
  },
})

/**
 * The number of seconds that a push of query results to another system may pause between two pages. Long pauses are
 * harmless, because the idle session holds no lock and no snapshot.
 */
const pushIdleSeconds = 14_400

/**
 * The SQL before a user's query. WITH HOLD stores the result on the server, so the transaction can end before a read.
 */
const holdPrefix = 'declare page no scroll cursor with hold for '

/** Runs a user's query and returns its rows. See `QueryRunner.query`. */
async function runUserQuery(access: WarehouseAccess, userQuery: UserQuery, signal?: AbortSignal): Promise<QueryRows> {
  const { rows, offset, bytes, seconds } = resolveQueryLimits(userQuery.limits)
  await using session = openQuerySession(access, userQuery, { seconds, prefix: cursorPrefix, signal })
  return await session.run(async (client, setTimeLimit) => {
    await client.query(takeSnapshot)
    await executeSingleStatement(client, cursorPrefix + userQuery.text, userQuery.values, userQuery.texts)
    // Sets the time limit again before each fetch, because functions in the query may have changed it with set_config.
    if (offset > 0) await client.query(`${setTimeLimit}; move forward ${offset} from page`)
    // One more row shows whether there are more than the caller wants. `truncated` says that the byte limit ended the
    // read, which closes the connection.
    const { fields, rows: fetchedRows, truncated } = await fetchRows(client, rows + 1, bytes, setTimeLimit)
    if (truncated && fetchedRows.length === 0) throw rowTooLarge(bytes)
    if (!truncated && !isInTransaction(client)) throw lostTransaction()
    const columns = resultColumns(fields)
    const hasMore = truncated || fetchedRows.length > rows
    return { columns, rows: toCells(fetchedRows.slice(0, rows), columns), truncated, more: hasMore }
  })
}

/**
 * Runs a user's query and yields its rows in pages. See `QueryRunner.queryPages`. The server stores the result (WITH
 * HOLD) and ends the transaction before the first page. So a caller that reads pages for hours does not block loads.
 */
async function* queryPages(
  access: WarehouseAccess,
  userQuery: UserQuery,
  pageRows: number,
  signal: AbortSignal,
): AsyncGenerator<QueryRows, void, undefined> {
  const { pageRows: size, rows, offset, bytes, seconds } = resolvePageLimits(pageRows, userQuery.limits)
  let rowsLeft = rows
  await using session = openQuerySession(access, userQuery, { seconds, prefix: holdPrefix, signal })
  await session.run(async (client, setTimeLimit) => {
    await client.query(takeSnapshot)
    await executeSingleStatement(client, holdPrefix + userQuery.text, userQuery.values, userQuery.texts)
    if (!isInTransaction(client)) throw lostTransaction()
    await client.query(`${setTimeLimit}; commit`)
    // The output formats were set for the transaction, which has ended, so they are set again for the session.
    const settings = `set timezone = 'UTC'; set datestyle = 'ISO, YMD'; set extra_float_digits = 1`
    await client.query(`set idle_session_timeout = '${pushIdleSeconds}s'; set statement_timeout = '60s'; ${settings}`)
    if (offset > 0) await client.query(`move forward ${offset} from page`)
  })
  while (rowsLeft > 0) {
    const rowsToRead = Math.min(size, rowsLeft)
    const page = await session.run(async (client) => {
      const fetched = await fetchRows(client, rowsToRead, bytes)
      if (fetched.truncated) throw pageTooLarge(rowsToRead, bytes)
      const columns = resultColumns(fetched.fields)
      const hasMore = fetched.rows.length === rowsToRead
      return { columns, rows: toCells(fetched.rows, columns), truncated: false, more: hasMore }
    })
    if (page.rows.length > 0) yield page
    if (!page.more) return
    rowsLeft -= page.rows.length
  }
}

/**
 * Returns the problem for a user's text that ended its transaction, and may have started another one. Its result is
 * discarded.
 */
function lostTransaction(): WarehouseProblem {
  return new WarehouseProblem(
    'SQL_NOT_ALLOWED',
    'The query ended its transaction, which is not allowed. Remove COMMIT, ROLLBACK and calls that run them.',
  )
}

/**
 * Reads a page of a table as role `read`, on a separate connection that is closed afterwards. The rows have the order
 * in which they were loaded. This order is the same for every page, because parallel and synchronized scans are
 * disabled. Throws TABLE_MISSING and QUERY_TIMEOUT, and the signal's reason on abort.
 */
async function readTable(
  access: WarehouseAccess,
  schema: string,
  table: string,
  page: { limit: number; offset: number },
  { seconds = defaultQuerySeconds, signal }: ReadLimits = {},
): Promise<QueryRows> {
  signal?.throwIfAborted()
  checkSchemaName(schema)
  checkTableName(table)
  const qualifiedName = qualifyName(schema, table)
  const client = readClient(access)
  /** The reason why this process closed the connection. The server may still be running the query. */
  let stopReason: unknown
  const stop = (reason: unknown) => {
    stopReason ??= reason
    destroySocket(client)
  }
  const abort = () => stop(signal!.reason)
  signal?.addEventListener('abort', abort, { once: true })
  const deadline = setTimeout(() => stop(readTooSlow(qualifiedName, seconds)), (seconds + serverGraceSeconds) * 1_000)
  let watch: Disposable | undefined
  try {
    await client.connect()
    watch = readWatch(access).watch(sessionOf(client)!, { writes: false, stop })
    await client.query(
      `${beginReading({ searchPath: 'pg_catalog', idle: 30 })};
       set local statement_timeout = '${seconds}s'; set local synchronize_seqscans = off`,
    )
    const shape = await readShapeAsReader(client, schema, table)
    if (!shape) throw new WarehouseProblem('TABLE_MISSING', `${qualifiedName} does not exist. Load it first.`)
    const columns = shape.columns.map(describeColumn)
    const list = columns.map(({ name }) => escapeIdentifier(name)).join(', ')
    const limit = clampLimit(page.limit, maxQueryRows, 0)
    const declare = `declare page no scroll cursor for select ${list} from ${qualifiedName} limit $1 offset $2`
    await executeSingleStatement(client, declare, [String(limit), String(Math.max(0, page.offset))])
    const { rows, truncated } = await fetchRows(client, limit, defaultQueryBytes)
    if (truncated && rows.length === 0) throw rowTooLarge(defaultQueryBytes)
    return { columns, rows: toCells(rows, columns), truncated }
  } catch (error) {
    throw stopReason ?? warehouseProblem(error, { qualifiedName })
  } finally {
    watch?.[Symbol.dispose]()
    clearTimeout(deadline)
    signal?.removeEventListener('abort', abort)
    if (stopReason === undefined) await endReadSession(client)
    else await endSession(access, sessionOf(client))
  }
}

const readTooSlow = (qualifiedName: string, seconds: number) =>
  new WarehouseProblem('QUERY_TIMEOUT', `Reading ${qualifiedName} took longer than ${seconds} seconds and was stopped.`)
