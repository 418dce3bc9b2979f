import { escapeIdentifier } from 'pg'
import { assertNoNulCharacter } from '../../query-limits.ts'
import type { UserQuery } from '../../warehouse.ts'
import { destroySocket, readClient, type WarehouseAccess } from '../postgres-connections.ts'
import { queryProblem, tooSlow } from './query-problems.ts'
import { beginReading, endReadSession } from './read-transaction.ts'
import { endSession, readWatch, sessionOf } from './statement-watch.ts'

export type QueryClient = ReturnType<typeof readClient>

/**
 * Seconds after the time limit in which the server should stop the query itself. After that, its server process is
 * ended.
 */
export const serverGraceSeconds = 3

/** The SQL before a user's query. It declares a cursor, so the server rejects anything that is not a single query. */
export const cursorPrefix = 'declare page no scroll cursor for '

interface QuerySessionOptions {
  /** The query's time limit in seconds. Callers set it before each statement that may take long. */
  seconds: number
  /** The SQL before the user's query in the statement. */
  prefix: string
  signal?: AbortSignal | undefined
}

/** Opens a query session on its own connection. It connects at the first use and closes when disposed. */
export function openQuerySession(
  access: WarehouseAccess,
  userQuery: UserQuery,
  { seconds, prefix, signal }: QuerySessionOptions,
) {
  const searchPath = (userQuery.schemas ?? []).map((name) => escapeIdentifier(name)).join(', ') || 'pg_catalog'
  const client = readClient(access)
  let hasBegun = false
  /** The reason why this process closed the connection. The server may still be running the query. */
  let why: unknown

  async function begin(): Promise<void> {
    assertNoNulCharacter(userQuery.text)
    await client.connect()
    hasBegun = true
    await client.query(`${beginReading({ searchPath, idle: 60 })}; set local jit = off; ${allowed}`)
  }
  const allowed = `set local statement_timeout = '${seconds}s'`

  return {
    /**
     * Runs `callback` with the connection and with a statement that sets the time limit of the next statement. Do not
     * call it concurrently.
     */
    async run<T>(callback: (client: QueryClient, allowed: string) => Promise<T>): Promise<T> {
      signal?.throwIfAborted()
      const stop = (reason: unknown) => {
        why ??= reason
        destroySocket(client)
      }
      const abort = () => stop(signal!.reason)
      signal?.addEventListener('abort', abort, { once: true })
      // A user-defined function can catch the server's time-out error, but not this timer.
      const deadline = setTimeout(() => stop(tooSlow(seconds)), (seconds + serverGraceSeconds) * 1_000)
      let watch: Disposable | undefined
      try {
        if (!hasBegun) await begin()
        watch = readWatch(access).watch(sessionOf(client)!, { writes: false, stop })
        return await callback(client, allowed)
      } catch (error) {
        throw why ?? queryProblem(error, { query: userQuery, prefix: prefix.length, seconds })
      } finally {
        watch?.[Symbol.dispose]()
        clearTimeout(deadline)
        signal?.removeEventListener('abort', abort)
      }
    },

    async [Symbol.asyncDispose]() {
      if (!hasBegun) return destroySocket(client)
      if (why === undefined) await endReadSession(client)
      else await endSession(access, sessionOf(client))
    },
  }
}
