import { escapeIdentifier } from 'pg'
import { assertNoNulCharacter } from '../../query-limits.ts'
import type { UserQuery } from '../../warehouse.ts'
import { destroySocket, readClient, type WarehouseAccess } from '../postgres-connections.ts'
import { queryProblem, tooSlow } from './query-problems.ts'
import { beginReading, endReadSession } from './read-transaction.ts'
import { endSession, readWatch, sessionOf } from './statement-watch.ts'

export type QueryClient = ReturnType<typeof readClient>

/** Seconds in which the server should stop the query itself, before its process is ended. */
export const serverGraceSeconds = 3

/** Declares the cursor of a query. The server rejects any text after it that is not one query. */
export const cursorPrefix = 'declare page no scroll cursor for '

interface QuerySessionOptions {
  /** The time limit of the query, which the caller sets before each statement that may be long. */
  seconds: number
  /** The text before the user's query in the statement. */
  prefix: string
  signal?: AbortSignal | undefined
}

/** Opens a session on its own connection, which connects at the first use and closes when the session is disposed. */
export function openQuerySession(
  access: WarehouseAccess,
  userQuery: UserQuery,
  { seconds, prefix, signal }: QuerySessionOptions,
) {
  const searchPath = (userQuery.schemas ?? []).map((name) => escapeIdentifier(name)).join(', ') || 'pg_catalog'
  const client = readClient(access)
  let hasBegun = false
  /** The reason why this process cut the connection; the server may still run the query. */
  let why: unknown

  async function begin(): Promise<void> {
    assertNoNulCharacter(userQuery.text)
    await client.connect()
    hasBegun = true
    await client.query(`${beginReading({ searchPath, idle: 60 })}; set local jit = off; ${allowed}`)
  }
  const allowed = `set local statement_timeout = '${seconds}s'`

  return {
    /** Runs `callback` with a statement that sets the time limit of the next statement. Must not be called concurrently. */
    async run<T>(callback: (client: QueryClient, allowed: string) => Promise<T>): Promise<T> {
      signal?.throwIfAborted()
      const stop = (reason: unknown) => {
        why ??= reason
        destroySocket(client)
      }
      const abort = () => stop(signal!.reason)
      signal?.addEventListener('abort', abort, { once: true })
      // A user-defined function can catch the server's time-out; it cannot catch this one.
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
