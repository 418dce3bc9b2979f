import { rowTooLarge, within } from '../caps.ts'
import { escapeIdentifier } from 'pg'
import { type Rows, type UserQuery, WarehouseProblem } from '../warehouse.ts'
import { cut, readClient, type WarehouseAccess } from './access.ts'
import { queryProblem, tooSlow } from './query-problems.ts'
import { beginReading, executeOne, fetchRows, leave, toCells } from './reading.ts'
import { resultColumns } from './result-columns.ts'
import { endSession, sessionOf } from './session-end.ts'
import { readWatch } from './statement-watch.ts'

const mostRows = 10_000
const mostBytes = 32 * 1024 * 1024
const usualBytes = 4 * 1024 * 1024

/** Seconds. A page that is pushed to a slow system may take long; by then the server holds no lock and no snapshot. */
const usualSeconds = { page: 30, all: 1_800 }
const mostSeconds = 86_400
const pushIdle = 14_400

/** Seconds that the server has to stop by itself, before its process is ended. */
const grace = 3

const [moment, kept] = ['declare page no scroll cursor for ', 'declare page no scroll cursor with hold for ']

/** See `Warehouse.query`. */
export async function query(access: WarehouseAccess, asked: UserQuery, signal?: AbortSignal): Promise<Rows> {
  const { limits = {} } = asked
  const rows = within(limits.rows, mostRows, mostRows)
  const offset = within(limits.offset, Number.MAX_SAFE_INTEGER, 0)
  const bytes = within(limits.bytes, mostBytes, usualBytes)
  await using session = openSession(access, asked, { seconds: usualSeconds.page, prefix: moment, signal })
  return await session.run(async (client, allowed) => {
    await client.query('select')
    await executeOne(client, moment + asked.text, asked.values, asked.texts)
    // Once more before each of them: rows that were read may have called set_config.
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
 * See `Warehouse.queryPages`. The server keeps the result aside (WITH HOLD) and ends the transaction before the first
 * page: whoever takes hours for the pages keeps no load waiting.
 */
export async function* queryPages(
  access: WarehouseAccess,
  asked: UserQuery,
  pageRows: number,
  signal: AbortSignal,
): AsyncGenerator<Rows, void, undefined> {
  const { limits = {} } = asked
  const size = within(pageRows, mostRows, mostRows)
  const bytes = within(limits.bytes, mostBytes, mostBytes)
  let left = within(limits.rows, Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER)
  await using session = openSession(access, asked, { seconds: usualSeconds.all, prefix: kept, signal })
  await session.run(async (client, allowed) => {
    await client.query('select')
    await executeOne(client, kept + asked.text, asked.values, asked.texts)
    if (client.getTransactionStatus() !== 'T') throw lostTransaction()
    await client.query(`${allowed}; commit`)
    // How values are written was set for the transaction, which is over.
    const written = `set timezone = 'UTC'; set datestyle = 'ISO, YMD'; set extra_float_digits = 1`
    await client.query(`set idle_session_timeout = '${pushIdle}s'; set statement_timeout = '60s'; ${written}`)
    const offset = within(limits.offset, Number.MAX_SAFE_INTEGER, 0)
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

interface Manner {
  /** How long where the query says nothing. */
  seconds: number
  prefix: string
  signal?: AbortSignal | undefined
}

/** A connection of its own, which begins with the first work and is thrown away at its disposal. */
function openSession(access: WarehouseAccess, asked: UserQuery, { seconds: usual, prefix, signal }: Manner) {
  // None would be no limit at all.
  const seconds = Math.max(1, within(asked.limits?.seconds, mostSeconds, usual))
  const searchPath = (asked.schemas ?? []).map((name) => escapeIdentifier(name)).join(', ') || 'pg_catalog'
  const client = readClient(access)
  let began = false
  /** Cut by us: the server may still be at it. */
  let why: unknown

  async function begin(): Promise<void> {
    if (asked.text.includes('\0')) throw new WarehouseProblem('QUERY_FAILED', 'The query contains a NUL character.')
    await client.connect()
    began = true
    await client.query(`${beginReading({ searchPath, idle: 60 })}; set local jit = off; ${allowed}`)
  }
  const allowed = `set local statement_timeout = '${seconds}s'`

  return {
    /** `work` gets the statement that allows the next one its time. Not for two at once. */
    async run<T>(work: (client: ReturnType<typeof readClient>, allowed: string) => Promise<T>): Promise<T> {
      signal?.throwIfAborted()
      const stop = (reason: unknown) => {
        why ??= reason
        cut(client)
      }
      const abort = () => stop(signal!.reason)
      signal?.addEventListener('abort', abort, { once: true })
      // The server's own time-out can be caught by a function that somebody made; this one cannot.
      const deadline = setTimeout(() => stop(tooSlow(seconds)), (seconds + grace) * 1_000)
      let watch: Disposable | undefined
      try {
        if (!began) await begin()
        watch = readWatch(access).watch(sessionOf(client)!, { writes: false, stop })
        return await work(client, allowed)
      } catch (error) {
        throw why ?? queryProblem(error, { query: asked, prefix: prefix.length, seconds })
      } finally {
        watch?.[Symbol.dispose]()
        clearTimeout(deadline)
        signal?.removeEventListener('abort', abort)
      }
    },

    async [Symbol.asyncDispose]() {
      if (!began) return cut(client)
      if (why === undefined) await leave(client)
      else await endSession(access, sessionOf(client))
    },
  }
}

function pageTooLarge(rows: number, bytes: number): WarehouseProblem {
  const most = `${Math.round(bytes / 1024 / 1024)} MB`
  return new WarehouseProblem('RESULT_TOO_LARGE', `${rows} rows of the query are larger than ${most}. Select less.`)
}

/** Whatever ended it may have begun another one: nothing that came out of it is answered. */
function lostTransaction(): WarehouseProblem {
  return new WarehouseProblem('SQL_NOT_ALLOWED', 'The query ended its transaction, which it may not do.')
}
