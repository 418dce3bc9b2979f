import { ambiguousAmong } from '../ambiguous-among.ts'
import { rowTooLarge, within } from '../caps.ts'
import { randomUUID } from 'node:crypto'
import { withoutEnd } from '../../../sql-text.ts'
import { type Readdressed, readdressed } from '../sql-names.ts'
import { type AmbiguousTable, type Rows, type UserQuery, type WarehouseColumn, WarehouseProblem } from '../warehouse.ts'
import type { ClientAccess } from './access.ts'
import { listSchemas, relations } from './catalogue.ts'
import type { Place } from '../views.ts'
import { type Access, ask, execute } from './http.ts'
import { databaseOf, literal, qualified } from './names.ts'
import { typeOf } from './parameters.ts'
import { queryProblem, tooSlow } from './query-problems.ts'
import { exactly, format, takeRows } from './result.ts'

const mostRows = 10_000
const mostBytes = 32 * 1024 * 1024
const usualBytes = 4 * 1024 * 1024
const usualSeconds = 30
const mostSeconds = 86_400
/** Seconds that the server has to stop by itself. */
const grace = 5

/** What stands before a user's text: a line of its own, so that their lines are one less than the server says. */
export const opening = 'select * from (\n'

/** A user's text as the server takes it, and the database in which it is to run. */
export async function prepared(
  access: ClientAccess,
  { text, values = [], texts, schemas = [] }: UserQuery,
  { whole = false } = {},
): Promise<Readdressed & { database: string; parameters: Record<string, string | null> }> {
  if (text.includes('\0')) throw new WarehouseProblem('QUERY_FAILED', 'The query contains a NUL character.')
  const there = await relations(access, [...new Set([...schemas, ...(await listSchemas(access))])])
  const parameters: Record<string, string | null> = {}
  const around = {
    schemas,
    relations: there,
    whole,
    address: ({ schema, name }: Place) => qualified(databaseOf({ key: access.key, schema }), name),
    parameter(number: number) {
      const value = values[number - 1]
      if (value === undefined) return undefined
      parameters[`v${number}`] = value
      return `{v${number}:${value !== null && texts?.has(number - 1) ? 'String' : typeOf(value)}}`
    },
  }
  const [first] = schemas
  const database = first === undefined ? 'system' : databaseOf({ key: access.key, schema: first })
  return { ...readdressed(withoutEnd(text), around), parameters, database }
}

/** See `Warehouse.query`. */
export async function query(access: ClientAccess, asked: UserQuery, signal?: AbortSignal): Promise<Rows> {
  const { limits = {} } = asked
  const rows = within(limits.rows, mostRows, mostRows)
  const offset = within(limits.offset, Number.MAX_SAFE_INTEGER, 0)
  const bytes = within(limits.bytes, mostBytes, usualBytes)
  const seconds = Math.max(1, within(limits.seconds, mostSeconds, usualSeconds))
  const { text, parameters, database } = await prepared(access, asked).catch((error: unknown) => {
    throw queryProblem(error, asked, seconds)
  })
  const sql = `${opening}${text}\n) limit ${rows + 1} offset ${offset} format ${format}`
  const taken = await reading(access, { sql, parameters, database, seconds, most: { rows, bytes } }, signal).catch(
    (error: unknown) => {
      signal?.throwIfAborted()
      throw queryProblem(error, asked, seconds)
    },
  )
  if (taken.truncated && taken.rows.length === 0) throw rowTooLarge(bytes)
  return taken
}

interface Reading {
  sql: string
  parameters?: Record<string, string | null>
  database?: string
  seconds: number
  most: { rows: number; bytes: number }
  /** Where more is known of them than the server says. */
  columns?: readonly WarehouseColumn[]
}

/** As role `read`. What is cut off here is stopped at the server too. */
export async function reading(
  access: ClientAccess,
  { sql, parameters = {}, database, seconds, most, columns }: Reading,
  signal?: AbortSignal,
): Promise<Rows & { more: boolean }> {
  signal?.throwIfAborted()
  const late = AbortSignal.timeout((seconds + grace) * 1_000)
  const queryId = randomUUID()
  try {
    const response = await ask(access.read, sql, {
      parameters,
      database,
      queryId,
      signal: signal ? AbortSignal.any([signal, late]) : late,
      settings: {
        ...exactly,
        readonly: 2,
        max_execution_time: seconds,
        max_result_rows: 0,
        cancel_http_readonly_queries_on_client_close: 1,
      },
    })
    return await takeRows(response, most, columns)
  } catch (error) {
    if (signal?.aborted || late.aborted) await stopAtServer(access.service, queryId)
    throw late.aborted ? tooSlow(seconds) : error
  }
}

/** Asked for and not waited for: the connection that ran it is gone already. */
export const stopAtServer = (service: Access, queryId: string): Promise<void> =>
  execute(service, `kill query where query_id = ${literal(queryId)} async`).catch(() => {})

/** See `Warehouse.ambiguousTable`. */
export async function ambiguousTable(
  access: ClientAccess,
  asked: UserQuery,
  preferred: number,
): Promise<AmbiguousTable | undefined> {
  const { bare } = await prepared(access, asked)
  const schemas = asked.schemas ?? []
  const there = await relations(access, schemas)
  return ambiguousAmong(bare, there, schemas, preferred)
}
