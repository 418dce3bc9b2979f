import type { QueryRunner } from '../query-runner.ts'
import {
  acquireQuery,
  assertNoNulCharacter,
  clampLimit,
  defaultQueryBytes,
  defaultQuerySeconds,
  maxQueryRows,
  pageTooLarge,
  resolvePageLimits,
  resolveQueryLimits,
  rowTooLarge,
} from '../query-limits.ts'
import { type FieldDef, escapeIdentifier } from 'pg'
import {
  type ReadLimits,
  type QueryRows,
  type UserQuery,
  type WarehouseColumn,
  WarehouseProblem,
} from '../warehouse.ts'
import { type WarehouseAccess, destroySocket, readClient } from './postgres-connections.ts'
import { ambiguousTable } from './queries/query-planning.ts'
import { queryProblem, tooSlow } from './queries/query-problems.ts'
import { beginReading, executeOne, fetchRows, endReadSession, toCells } from './queries/read-transaction.ts'
import { endSession, readWatch, sessionOf } from './queries/statement-watch.ts'
import { type SqlType, describeType } from './types.ts'
import { describeColumn } from './postgres-catalog.ts'
import { checkSchemaName, checkTableName, qualified } from './names.ts'
import { warehouseProblem } from './problems.ts'
import { readShape } from './table-shape.ts'

export const postgresQueries = (access: WarehouseAccess): QueryRunner => ({
  async query(request, signal) {
    using _slot = await acquireQuery('queries', access.database, signal)
    return await query(access, request, signal)
  },
  async *queryPages(request, pageRows, signal) {
    using _slot = await acquireQuery('pushes', access.database, signal)
    yield* queryPages(access, request, pageRows, signal)
  },
  readTable: (schema, table, page, limits) => readTable(access, schema, table, page, limits),
  findAmbiguousTable: (request, preferred, signal) => ambiguousTable(access, request, preferred, signal),
})

/** The idle time-out between two pages, in seconds. A slow reader holds neither lock nor snapshot at the server. */
const pushIdle = 14_400

/** Seconds in which the server should stop the query itself, before its process is ended. */
const grace = 3

const [moment, kept] = ['declare page no scroll cursor for ', 'declare page no scroll cursor with hold for ']

async function query(access: WarehouseAccess, userQuery: UserQuery, signal?: AbortSignal): Promise<QueryRows> {
  const { rows, offset, bytes, seconds } = resolveQueryLimits(userQuery.limits)
  await using session = openQuerySession(access, userQuery, { seconds, prefix: moment, signal })
  return await session.run(async (client, allowed) => {
    await client.query('select')
    await executeOne(client, moment + userQuery.text, userQuery.values, userQuery.texts)
    // Sets the time limit again before each fetch, because functions in the query may have called set_config.
    if (offset > 0) await client.query(`${allowed}; move forward ${offset} from page`)
    const fetched = await fetchRows(client, rows + 1, bytes, allowed)
    if (fetched.truncated && fetched.rows.length === 0) throw rowTooLarge(bytes)
    if (!fetched.truncated && client.getTransactionStatus() !== 'T') throw lostTransaction()
    const columns = resultColumns(fetched.fields)
    const more = fetched.rows.length > rows || fetched.truncated
    return { columns, rows: toCells(fetched.rows.slice(0, rows), columns), truncated: fetched.truncated, more }
  })
}

/**
 * See `QueryRunner.queryPages`. The server stores the result (WITH HOLD) and ends the transaction before the first page, so a
 * client that reads pages for hours does not block loads.
 */
async function* queryPages(
  access: WarehouseAccess,
  userQuery: UserQuery,
  pageRows: number,
  signal: AbortSignal,
): AsyncGenerator<QueryRows, void, undefined> {
  const { pageRows: size, rows, offset, bytes, seconds } = resolvePageLimits(pageRows, userQuery.limits)
  let left = rows
  await using session = openQuerySession(access, userQuery, { seconds, prefix: kept, signal })
  await session.run(async (client, allowed) => {
    await client.query('select')
    await executeOne(client, kept + userQuery.text, userQuery.values, userQuery.texts)
    if (client.getTransactionStatus() !== 'T') throw lostTransaction()
    await client.query(`${allowed}; commit`)
    // The output formats were set for the transaction, which has ended.
    const written = `set timezone = 'UTC'; set datestyle = 'ISO, YMD'; set extra_float_digits = 1`
    await client.query(`set idle_session_timeout = '${pushIdle}s'; set statement_timeout = '60s'; ${written}`)
    if (offset > 0) await client.query(`move forward ${offset} from page`)
  })
  while (left > 0) {
    const wanted = Math.min(size, left)
    const page = await session.run(async (client) => {
      const fetched = await fetchRows(client, wanted, bytes)
      if (fetched.truncated) throw pageTooLarge(wanted, bytes)
      const columns = resultColumns(fetched.fields)
      const more = fetched.rows.length === wanted
      return { columns, rows: toCells(fetched.rows, columns), truncated: false, more }
    })
    if (page.rows.length > 0) yield page
    if (!page.more) return
    left -= page.rows.length
  }
}

interface QuerySessionOptions {
  seconds: number
  prefix: string
  signal?: AbortSignal | undefined
}

/** Opens a session on its own connection, which connects at the first use and closes when the session is disposed. */
function openQuerySession(
  access: WarehouseAccess,
  userQuery: UserQuery,
  { seconds, prefix, signal }: QuerySessionOptions,
) {
  const searchPath = (userQuery.schemas ?? []).map((name) => escapeIdentifier(name)).join(', ') || 'pg_catalog'
  const client = readClient(access)
  let began = false
  /** The reason why this process cut the connection; the server may still run the query. */
  let why: unknown

  async function begin(): Promise<void> {
    assertNoNulCharacter(userQuery.text)
    await client.connect()
    began = true
    await client.query(`${beginReading({ searchPath, idle: 60 })}; set local jit = off; ${allowed}`)
  }
  const allowed = `set local statement_timeout = '${seconds}s'`

  return {
    /** Runs `work` with a statement that sets the time limit of the next statement. Must not be called concurrently. */
    async run<T>(work: (client: ReturnType<typeof readClient>, allowed: string) => Promise<T>): Promise<T> {
      signal?.throwIfAborted()
      const stop = (reason: unknown) => {
        why ??= reason
        destroySocket(client)
      }
      const abort = () => stop(signal!.reason)
      signal?.addEventListener('abort', abort, { once: true })
      // A user-defined function can catch the server's time-out; it cannot catch this one.
      const deadline = setTimeout(() => stop(tooSlow(seconds)), (seconds + grace) * 1_000)
      let watch: Disposable | undefined
      try {
        if (!began) await begin()
        watch = readWatch(access).watch(sessionOf(client)!, { writes: false, stop })
        return await work(client, allowed)
      } catch (error) {
        throw why ?? queryProblem(error, { query: userQuery, prefix: prefix.length, seconds })
      } finally {
        watch?.[Symbol.dispose]()
        clearTimeout(deadline)
        signal?.removeEventListener('abort', abort)
      }
    },

    async [Symbol.asyncDispose]() {
      if (!began) return destroySocket(client)
      if (why === undefined) await endReadSession(client)
      else await endSession(access, sessionOf(client))
    },
  }
}

/** The user's text may have ended the transaction and started another one, so its result is discarded. */
function lostTransaction(): WarehouseProblem {
  return new WarehouseProblem(
    'SQL_NOT_ALLOWED',
    'The query ended its transaction, which is not allowed. Remove COMMIT, ROLLBACK and calls that run them.',
  )
}

/** Types of `pg_type` that map to a DataType; their OIDs are the same on every server. All other types are text. */
const plain: Record<number, SqlType> = {
  16: 'boolean',
  20: 'bigint',
  21: 'smallint',
  23: 'integer',
  114: 'json',
  700: 'real',
  701: 'double precision',
  1082: 'date',
  1114: 'timestamp without time zone',
  1184: 'timestamp with time zone',
  3802: 'jsonb',
}

/** Returns the columns of a result, in its order. A repeated name gets a number as suffix; the label keeps the original name. */
function resultColumns(fields: readonly FieldDef[]): WarehouseColumn[] {
  const taken = new Set(fields.map(({ name }) => name))
  const seen = new Set<string>()
  return fields.map((field) => {
    let name = field.name
    for (let number = 2; seen.has(name) || (number > 2 && taken.has(name)); number += 1)
      name = `${field.name}_${number}`
    seen.add(name)
    return { name, label: field.name, ...describeType(resultTypeOf(field)), primaryKey: false }
  })
}

/** Returns the type as `format_type` prints it. The modifier counts from 4 and is -1 if the type has none. */
function resultTypeOf({ dataTypeID, dataTypeModifier }: FieldDef): SqlType {
  const modifier = dataTypeModifier - 4
  if (dataTypeID === 1042) return modifier > 0 ? `character(${modifier})` : 'text'
  if (dataTypeID === 1043) return modifier > 0 ? `character varying(${modifier})` : 'character varying'
  if (dataTypeID === 1700) return modifier >= 0 ? `numeric(${modifier >> 16},${(modifier << 21) >> 21})` : 'numeric'
  return plain[dataTypeID] ?? 'text'
}

/**
 * Reads a page of a table as role `read`, on a separate connection that is closed afterwards. Rows come in the table's load
 * order, the same for every page, because parallel and synchronized scans are disabled.
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
  const place = qualified(schema, table)
  const client = readClient(access)
  let stopped: unknown
  const stop = (reason: unknown) => {
    stopped ??= reason
    destroySocket(client)
  }
  const abort = () => stop(signal!.reason)
  signal?.addEventListener('abort', abort, { once: true })
  const deadline = setTimeout(() => stop(readTooSlow(place, seconds)), (seconds + grace) * 1_000)
  let watch: Disposable | undefined
  try {
    await client.connect()
    watch = readWatch(access).watch(sessionOf(client)!, { writes: false, stop })
    await client.query(
      `${beginReading({ searchPath: 'pg_catalog', idle: 30 })};
       set local statement_timeout = '${seconds}s'; set local synchronize_seqscans = off`,
    )
    const shape = await readShape(client, schema, table)
    if (!shape) throw new WarehouseProblem('TABLE_MISSING', `${place} does not exist. Load it first.`)
    const columns = shape.columns.map(describeColumn)
    const list = columns.map(({ name }) => escapeIdentifier(name)).join(', ')
    const limit = clampLimit(page.limit, maxQueryRows, 0)
    const declare = `declare page no scroll cursor for select ${list} from ${place} limit $1 offset $2`
    await executeOne(client, declare, [String(limit), String(Math.max(0, page.offset))])
    const { rows, truncated } = await fetchRows(client, limit, defaultQueryBytes)
    if (truncated && rows.length === 0) throw rowTooLarge(defaultQueryBytes)
    return { columns, rows: toCells(rows, columns), truncated }
  } catch (error) {
    throw stopped ?? warehouseProblem(error, { place })
  } finally {
    watch?.[Symbol.dispose]()
    clearTimeout(deadline)
    signal?.removeEventListener('abort', abort)
    if (stopped === undefined) await endReadSession(client)
    else await endSession(access, sessionOf(client))
  }
}

const readTooSlow = (place: string, seconds: number) =>
  new WarehouseProblem('QUERY_TIMEOUT', `Reading ${place} took longer than ${seconds} seconds and was stopped.`)
