import type { Pool, PoolClient } from 'pg'
import { WarehouseProblem } from '../warehouse.ts'
import { withClient } from './access.ts'
import { loadWatch } from './statement-watch.ts'

/** Seconds in which the server stops a statement by itself. */
const grace = 3

interface Limits {
  seconds: number
  signal: AbortSignal
  /** What it is, as it stands in a sentence. */
  what: string
  /** Bytes of tables that the statement's load replaces. */
  replaced?: number
}

/**
 * One statement in which functions of users may run, on a connection that is thrown away afterwards. Such a function can catch the
 * server's time-out, and can keep the server from noticing that nobody listens any more: then its process is ended from another
 * connection of the same role, after so many seconds and a few, when `signal` aborts, or when it holds too many locks or fills the
 * client's warehouse. Throws QUERY_TIMEOUT, TOO_MANY_LOCKS and WAREHOUSE_FULL.
 */
export async function stoppable<T>(
  others: Pool,
  client: PoolClient,
  { seconds, signal, what, replaced = 0 }: Limits,
  statement: () => Promise<T>,
): Promise<T> {
  const session = (client as unknown as { processID: number }).processID
  let late = false
  let beyond: WarehouseProblem | undefined
  const stop = () => void endSession(others, session)
  const timer = setTimeout(
    () => {
      late = true
      stop()
    },
    (seconds + grace) * 1_000,
  )
  signal.addEventListener('abort', stop, { once: true })
  using _watch = loadWatch(others).watch(session, {
    writes: true,
    replaced,
    stop(reason) {
      beyond = reason
      stop()
    },
  })
  try {
    return await statement()
  } catch (error) {
    if (beyond) throw beyond
    if (!late || signal.aborted) throw error
    const sentence = `${what} took longer than ${seconds} seconds and was stopped.`
    throw new WarehouseProblem('QUERY_TIMEOUT', sentence, { cause: error })
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', stop)
  }
}

/** Ends a process of the same role, and waits up to two seconds for that. Never throws: one that has no server left has ended. */
async function endSession(pool: Pool, session: number): Promise<void> {
  await withClient(pool, undefined, (client) =>
    client.query(
      'select pg_terminate_backend(pid, 2000) from pg_stat_activity where pid = $1 and usename = current_user',
      [session],
    ),
  ).catch(() => {})
}
