import { assertNoNulCharacter } from '../../query-limits.ts'
import type { UserQuery } from '../../warehouse.ts'
import { destroySocket, readClient, type WarehouseAccess } from '../postgres-connections.ts'
import { queryProblem, queryTooSlow } from './query-problems.ts'
import { beginReading, endReadSession, formatSearchPath } from './read-transaction.ts'
import { endSession, readWatch, sessionOf } from './statement-watchdog.ts'

export type QueryClient = ReturnType<typeof readClient>

/**
 * Seconds after the time limit within which the server should stop the query itself. After that, this process closes
 * the connection and ends the session.
 */
export const serverGraceSeconds = 3

/** The SQL before a user's query. It declares a cursor, so the server rejects anything that is not a single query. */
export const cursorPrefix = 'declare page no scroll cursor for '

interface QuerySessionOptions {
  /** The query's time limit in seconds. */
  seconds: number
  /** The SQL before the user's query in the statement. */
  prefix: string
  signal?: AbortSignal | undefined
}

/**
 * Opens a session for a user's query, in a read-only transaction on its own connection. Connects at the first use.
 * Dispose the session to close the connection.
 */
export function openQuerySession(
  access: WarehouseAccess,
  userQuery: UserQuery,
  { seconds, prefix, signal }: QuerySessionOptions,
) {
  const searchPath = formatSearchPath(userQuery.schemas ?? [])
  const setTimeLimit = `set local statement_timeout = '${seconds}s'`
  const client = readClient(access)
  let isConnected = false
  /** The reason why this process closed the connection. The server may still be running the query. */
  let stopReason: unknown

  async function begin(): Promise<void> {
    assertNoNulCharacter(userQuery.text)
    await client.connect()
    isConnected = true
    await client.query(`${beginReading({ searchPath, idle: 60 })}; set local jit = off; ${setTimeLimit}`)
  }

  return {
    /**
     * Runs `callback`, which must take no longer than the time limit, and returns its result. Its arguments are the
     * connection and the SQL statement that sets the time limit again. Do not call it concurrently.
     */
    async run<T>(callback: (client: QueryClient, setTimeLimit: string) => Promise<T>): Promise<T> {
      signal?.throwIfAborted()
      const stop = (reason: unknown) => {
        stopReason ??= reason
        destroySocket(client)
      }
      const abort = () => stop(signal!.reason)
      signal?.addEventListener('abort', abort, { once: true })
      // A user-defined function can catch the server's time-out error, but not this timer.
      const deadline = setTimeout(() => stop(queryTooSlow(seconds)), (seconds + serverGraceSeconds) * 1_000)
      let watch: Disposable | undefined
      try {
        if (!isConnected) await begin()
        watch = readWatch(access).watch(sessionOf(client)!, { writes: false, stop })
        return await callback(client, setTimeLimit)
      } catch (error) {
        throw stopReason ?? queryProblem(error, { query: userQuery, prefixLength: prefix.length, seconds })
      } finally {
        watch?.[Symbol.dispose]()
        clearTimeout(deadline)
        signal?.removeEventListener('abort', abort)
      }
    },

    async [Symbol.asyncDispose]() {
      if (!isConnected) return destroySocket(client)
      if (stopReason === undefined) await endReadSession(client)
      else await endSession(access, sessionOf(client))
    },
  }
}
