import { rowTooLarge } from '../caps.ts'
import { randomUUID } from 'node:crypto'
import { type ReadLimits, type Rows, type UserQuery, WarehouseProblem } from '../warehouse.ts'
import type { ClientAccess } from './access.ts'
import { execute } from './http.ts'
import {
  checkSchemaName,
  checkTableName,
  databaseOf,
  passing,
  qualified,
  quoted,
  shownAs,
  shownPrefix,
} from './names.ts'
import { queryProblem } from './query-problems.ts'
import { warehouseProblem } from './problems.ts'
import { prepared, reading, stopAtServer } from './query.ts'
import { format } from './result.ts'
import { describeColumn, readShape, type Shape } from './shape.ts'

const maximumRows = 10_000
const maximumBytes = 4 * 1024 * 1024
const mostPageBytes = 32 * 1024 * 1024
const usualSeconds = 30

/**
 * The order of a table: of its key; without one, of its load. Rows are kept as they came, and what the server puts together in the
 * background stays in order.
 */
function orderOf({ engine, columns }: Shape): string {
  if (!engine.endsWith('MergeTree')) return ''
  const keys = columns.filter(({ primaryKey }) => primaryKey).map(({ name }) => quoted(name))
  const order = keys.length > 0 ? keys : [`toUInt64OrZero(splitByChar('_', _part)[2])`, '_part_offset']
  return ` order by ${order.join(', ')}`
}

/** A page of a table as role `read`. */
export async function readTable(
  access: ClientAccess,
  { schema, table }: { schema: string; table: string },
  page: { limit: number; offset: number },
  { seconds = usualSeconds, signal }: ReadLimits = {},
): Promise<Rows> {
  checkSchemaName(schema)
  checkTableName(table)
  const place = shownAs(schema, table)
  try {
    const shape = await readShape(access.service, databaseOf({ key: access.key, schema }), table)
    if (!shape) throw new WarehouseProblem('TABLE_MISSING', `${place} does not exist. Load it first.`)
    const rows = Math.min(Math.max(0, page.limit), maximumRows)
    const list = shape.columns.map(({ name }) => quoted(name)).join(', ')
    const of = qualified(shape.database, table)
    const sql = `select ${list} from ${of}${orderOf(shape)} limit ${rows} offset ${Math.max(0, page.offset)} format ${format}`
    const columns = shape.columns.map(describeColumn)
    const taken = await reading(access, { sql, seconds, most: { rows, bytes: maximumBytes }, columns }, signal)
    if (taken.truncated && taken.rows.length === 0) throw rowTooLarge(maximumBytes)
    return { columns, rows: taken.rows, truncated: taken.truncated }
  } catch (error) {
    signal?.throwIfAborted()
    throw warehouseProblem(error, place)
  }
}

/**
 * See `Warehouse.queryPages`. The result is kept at the server in a table of its own, in its order, and read from there a page at a
 * time: so it is as of its beginning, and no connection has to live as long as the slowest taker.
 */
export async function* queryPages(
  access: ClientAccess,
  asked: UserQuery,
  pageRows: number,
  signal: AbortSignal,
): AsyncGenerator<Rows> {
  const { limits = {} } = asked
  const allowed = Math.max(1, Math.min(86_400, limits.seconds ?? 1_800))
  const size = Math.max(1, Math.min(maximumRows, pageRows))
  const bytes = Math.min(mostPageBytes, limits.bytes ?? mostPageBytes)
  const database = `${shownPrefix(access.key)}pages_${randomUUID()}`
  const kept = qualified(database, 'result')
  const queryId = randomUUID()
  try {
    const { text, parameters, database: home } = await prepared(access, asked)
    // Where somebody dies meanwhile, the janitor takes it after the time that the slowest taker has.
    await execute(access.service, `create database ${quoted(database)} comment ${passing('pages', allowed + 14_400)}`)
    await execute(
      access.load,
      `create table ${kept} engine = MergeTree order by tuple() as select * from (\n${text}\n) offset ${limits.offset ?? 0}`,
      { database: home, parameters, signal, queryId, settings: { max_execution_time: allowed, max_insert_threads: 1 } },
    )
    const shape = (await readShape(access.service, database, 'result'))!
    let left = limits.rows ?? Number.MAX_SAFE_INTEGER
    for (let offset = 0; left > 0; ) {
      const wanted = Math.min(size, left)
      const sql = `select * from ${kept}${orderOf(shape)} limit ${wanted} offset ${offset} format ${format}`
      const page = await reading(access, { sql, seconds: 60, most: { rows: wanted, bytes } }, signal)
      if (page.truncated) throw pageTooLarge(wanted, bytes)
      const more = page.rows.length === wanted
      if (page.rows.length > 0) yield { columns: page.columns, rows: page.rows, truncated: false, more }
      if (!more) return
      offset += page.rows.length
      left -= page.rows.length
    }
  } catch (error) {
    if (signal.aborted) await stopAtServer(access.service, queryId)
    signal.throwIfAborted()
    throw queryProblem(error, asked, allowed)
  } finally {
    await execute(access.service, `drop database if exists ${quoted(database)}`).catch(() => {})
  }
}

function pageTooLarge(rows: number, bytes: number): WarehouseProblem {
  const most = `${Math.round(bytes / 1024 / 1024)} MB`
  return new WarehouseProblem('RESULT_TOO_LARGE', `${rows} rows of the query are larger than ${most}. Select less.`)
}
