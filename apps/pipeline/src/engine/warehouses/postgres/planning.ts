import { type Client, DatabaseError, escapeIdentifier } from 'pg'
import type { UserQuery } from '../warehouse.ts'
import { cut, readClient, type WarehouseAccess } from './access.ts'
import { queryProblem } from './query-problems.ts'
import { beginReading, executeOne, leave } from './reading.ts'

/** Without ANALYZE, which behind this list of options is no word of the language any more: it plans, and runs nothing. */
const explain = 'explain (costs off) '

/** Makes the server plan a query, in these schemas. What the query names, and what views lead it to, is locked from then on. */
export type Plan = (schemas: readonly string[]) => Promise<void>

/**
 * A connection of role `read` on which a query is planned, as often as `work` likes; each time lets go of what the one before
 * locked. Throws what `Warehouse.query` throws, and the signal's reason when it aborts.
 */
export async function planning<T>(
  access: WarehouseAccess,
  query: UserQuery,
  { seconds, signal }: { seconds: number; signal: AbortSignal },
  work: (client: Client, plan: Plan) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted()
  const client = readClient(access)
  const abort = () => cut(client)
  signal.addEventListener('abort', abort, { once: true })
  const plan: Plan = async (schemas) => {
    await client.query(`rollback to savepoint planned; set local search_path = ${pathOf(schemas)}`)
    await executeOne(client, explain + query.text, query.values, query.texts)
  }
  try {
    await client.connect()
    const begin = beginReading({ searchPath: 'pg_catalog', idle: 30 })
    await client.query(`${begin}; set local statement_timeout = '${seconds}s'; select; savepoint planned`)
    return await work(client, plan)
  } catch (error) {
    signal.throwIfAborted()
    throw queryProblem(error, { query, prefix: explain.length, seconds })
  } finally {
    signal.removeEventListener('abort', abort)
    await leave(client)
  }
}

const pathOf = (schemas: readonly string[]) => schemas.map((name) => escapeIdentifier(name)).join(', ') || 'pg_catalog'

/** Whether the server does not understand what it was asked: a name, a type, the language. */
export const notUnderstood = (error: unknown): boolean =>
  error instanceof DatabaseError && error.code?.startsWith('42') === true
