import { rowTooLarge } from '../caps.ts'
import { escapeIdentifier } from 'pg'
import { type ReadLimits, type Rows, WarehouseProblem } from '../warehouse.ts'
import { cut, readClient, type WarehouseAccess } from './access.ts'
import { describeColumn } from './catalogue.ts'
import { checkSchemaName, checkTableName, qualified } from './names.ts'
import { warehouseProblem } from './problems.ts'
import { beginReading, executeOne, fetchRows, leave, toCells } from './reading.ts'
import { endSession, sessionOf } from './session-end.ts'
import { readWatch } from './statement-watch.ts'
import { readShape } from './shape.ts'

const maximumRows = 10_000
const maximumBytes = 4 * 1024 * 1024
const usualSeconds = 30

/** Seconds that the server has to stop by itself, before its process is ended: a view may hold functions that catch a time-out. */
const grace = 3

/**
 * A page of a table as role `read`, on a connection of its own that is thrown away. The order is the table's own: rows
 * as they were loaded, the same for every page, because nothing scans in parallel or joins another's scan midway.
 */
export async function readTable(
  access: WarehouseAccess,
  schema: string,
  table: string,
  page: { limit: number; offset: number },
  { seconds = usualSeconds, signal }: ReadLimits = {},
): Promise<Rows> {
  signal?.throwIfAborted()
  checkSchemaName(schema)
  checkTableName(table)
  const place = qualified(schema, table)
  const client = readClient(access)
  let stopped: unknown
  const stop = (reason: unknown) => {
    stopped ??= reason
    cut(client)
  }
  const abort = () => stop(signal!.reason)
  signal?.addEventListener('abort', abort, { once: true })
  const deadline = setTimeout(() => stop(tooSlow(place, seconds)), (seconds + grace) * 1_000)
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
    const limit = Math.min(Math.max(0, page.limit), maximumRows)
    const declare = `declare page no scroll cursor for select ${list} from ${place} limit $1 offset $2`
    await executeOne(client, declare, [String(limit), String(Math.max(0, page.offset))])
    const { rows, truncated } = await fetchRows(client, limit, maximumBytes)
    if (truncated && rows.length === 0) throw rowTooLarge(maximumBytes)
    return { columns, rows: toCells(rows, columns), truncated }
  } catch (error) {
    throw stopped ?? warehouseProblem(error, { place })
  } finally {
    watch?.[Symbol.dispose]()
    clearTimeout(deadline)
    signal?.removeEventListener('abort', abort)
    if (stopped === undefined) await leave(client)
    else await endSession(access, sessionOf(client))
  }
}

const tooSlow = (place: string, seconds: number) =>
  new WarehouseProblem('QUERY_TIMEOUT', `Reading ${place} took longer than ${seconds} seconds and was stopped.`)
