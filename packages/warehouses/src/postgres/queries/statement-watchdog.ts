import { setTimeout as sleep } from 'node:timers/promises'
import { type Client, Pool, type PoolClient } from 'pg'
import { WarehouseProblem } from '../../warehouse.ts'
import { type WarehouseAccess, readClient, readPoolConfig, withClient } from '../postgres-connections.ts'
import { freeBytes, warehouseFull } from '../server/database-size-limit.ts'
import { endReadSession } from './read-transaction.ts'

/**
 * The maximum number of locks for a user's statement. A full lock table would make statements in all databases of the
 * server fail.
 */
const maxLocks = 2_000

/** Milliseconds between two checks of the locks. */
const checkIntervalMs = 250
/** The number of lock checks per check of the database size, which takes longer. */
const checksPerSizeCheck = 12

export interface WatchLimits {
  /** The maximum size of the organisation's database in bytes. Default: no limit. */
  databaseBytes?: number | undefined
  /** Frees disk space until the database has at most `maxBytes` bytes. */
  makeRoom?(maxBytes: number): Promise<number>
}

interface WatchedSession {
  /** Called once if the statement exceeds its limits. */
  stop(reason: WarehouseProblem): void
  /** True if the statement writes, so that it can fill the disk. */
  writes: boolean
  /**
   * The size in bytes of the tables that the statement's load will replace. The database may temporarily exceed its
   * limit by this size.
   */
  replacedBytes?: number
}

/**
 * Watches sessions that run users' SQL, and stops those that hold too many locks or fill the disk. Uses a connection of
 * its own, which it opens when a statement takes longer than one check interval. It keeps the connection while it
 * watches, so statements that exhaust the server's connections cannot prevent a check.
 */
export class StatementWatch {
  readonly #pool: Pool
  readonly #limits: WatchLimits
  readonly #watched = new Map<number, WatchedSession>()
  #isChecking = false

  constructor(pool: Pool, limits: WatchLimits = {}) {
    this.#pool = pool
    this.#limits = limits
  }

  /** Watches a session until the returned object is disposed. `session` is the id of its server process. */
  watch(session: number, watched: WatchedSession): Disposable {
    this.#watched.set(session, watched)
    if (!this.#isChecking) void this.#checkRepeatedly()
    return {
      [Symbol.dispose]: () => {
        if (this.#watched.get(session) === watched) this.#watched.delete(session)
      },
    }
  }

  async #checkRepeatedly(): Promise<void> {
    this.#isChecking = true
    let client: PoolClient | undefined
    let hasFailed = false
    try {
      for (let checks = 1; ; checks += 1) {
        await sleep(checkIntervalMs)
        if (this.#watched.size === 0) return
        client ??= await this.#pool.connect()
        await this.#stopSessionsWithManyLocks(client)
        if (checks % checksPerSizeCheck === 0) await this.#stopWritersIfFull(client)
      }
    } catch {
      // The server is unreachable or full. The code below resumes watching the remaining statements.
      hasFailed = true
    } finally {
      client?.release(hasFailed)
      this.#isChecking = false
      if (this.#watched.size > 0) void this.#checkRepeatedly()
    }
  }

  async #stopSessionsWithManyLocks(client: PoolClient): Promise<void> {
    const { rows } = await client.query<{ pid: number; locks: number }>(
      'select pid, count(*)::int as locks from pg_locks where pid = any($1) group by pid having count(*) > $2',
      [[...this.#watched.keys()], maxLocks],
    )
    for (const { pid, locks } of rows) this.#stop(pid, tooManyLocks(locks))
  }

  /** If the database exceeds its limit, first frees space. Stops the writing sessions if that does not suffice. */
  async #stopWritersIfFull(client: PoolClient): Promise<void> {
    const { databaseBytes, makeRoom } = this.#limits
    const writers = [...this.#watched].filter(([, { writes }]) => writes)
    if (databaseBytes === undefined || writers.length === 0) return
    const findExceedingWriters = async () => {
      const free = await freeBytes(client, databaseBytes)
      return writers.filter(([, { replacedBytes = 0 }]) => free + replacedBytes < 0)
    }
    if ((await findExceedingWriters()).length === 0) return
    await makeRoom?.(databaseBytes)
    for (const [pid] of await findExceedingWriters()) this.#stop(pid, warehouseFull(databaseBytes))
  }

  #stop(session: number, reason: WarehouseProblem): void {
    const watched = this.#watched.get(session)
    this.#watched.delete(session)
    watched?.stop(reason)
  }
}

/** The watches over sessions of role `load`, by their pool, and over sessions of role `read`, by their access. */
const watches = new WeakMap<Pool | WarehouseAccess, StatementWatch>()
const readPools = new WeakMap<WarehouseAccess, Pool>()

/** Sets the limits for sessions that are opened from this pool. */
export function limitStatements(pool: Pool, limits: WatchLimits): void {
  watches.set(pool, new StatementWatch(pool, limits))
}

/** Returns the watch over sessions of role `load`. It uses a connection of this pool. */
export function loadWatch(pool: Pool): StatementWatch {
  return getOrCreateWatch(pool, () => pool)
}

/** Returns the watch over sessions of role `read`. It uses its own connection of that role. */
export function readWatch(access: WarehouseAccess): StatementWatch {
  return getOrCreateWatch(access, () => {
    const pool = new Pool({ ...readPoolConfig(access), max: 1, idleTimeoutMillis: 1_000, allowExitOnIdle: true })
    pool.on('error', () => {})
    readPools.set(access, pool)
    return pool
  })
}

/** Closes the connection that watches sessions of role `read`, if one is open. */
export async function endReadWatch(access: WarehouseAccess): Promise<void> {
  watches.delete(access)
  await readPools.get(access)?.end()
  readPools.delete(access)
}

function getOrCreateWatch(key: Pool | WarehouseAccess, getPool: () => Pool): StatementWatch {
  const existingWatch = watches.get(key)
  if (existingWatch) return existingWatch
  const watch = new StatementWatch(getPool())
  watches.set(key, watch)
  return watch
}

const tooManyLocks = (locks: number) =>
  new WarehouseProblem(
    'TOO_MANY_LOCKS',
    `The statement was stopped because it held ${locks.toLocaleString('en')} locks of ${maxLocks.toLocaleString('en')} allowed, one per table, index or sequence. Split it into several statements.`,
  )

/** Returns the id of the server process that serves this connection. Undefined until the connection is open. */
export function sessionOf(client: Client | PoolClient): number | undefined {
  return (client as unknown as { processID: number | null }).processID ?? undefined
}

/**
 * Ends the session with the server process `$1` and waits up to two seconds. The condition on the user prevents that it
 * ends a session of another role that has received the same process id.
 */
export const terminateQuery =
  'select pg_terminate_backend(pid, 2000) from pg_stat_activity where pid = $1 and usename = current_user'

/**
 * Ends a session of role `read` at the server, after its connection was closed. `session` is the id of its server
 * process; undefined if the connection was never open. Waits up to two seconds. The server usually notices the closed
 * connection within a second, but users' SQL can disable that check. Never throws.
 */
export async function endSession(access: WarehouseAccess, session: number | undefined): Promise<void> {
  if (session === undefined) return
  const client = readClient(access)
  try {
    await client.connect()
    await client.query(terminateQuery, [session])
  } catch {
    // If the server rejects new connections, it is shutting down and ends the session itself.
  } finally {
    await endReadSession(client)
  }
}

/**
 * Seconds between the time limit of a statement and the end of its server process. Within this time, the server usually
 * stops the statement itself.
 */
const graceSeconds = 3

interface StatementLimits {
  /** The statement's time limit. */
  seconds: number
  signal: AbortSignal
  /** The statement's name as the subject of an error message. */
  subject: string
  /** The size in bytes of the tables that the statement's load will replace. */
  replacedBytes?: number
}

/**
 * Runs one statement that may call user-defined functions, on a connection that is closed afterwards. Such a function
 * can catch the server's time-out and hide a closed connection from the server. So another connection of the same role
 * ends the server process: some seconds after the time limit, when `signal` aborts, or when the statement holds too
 * many locks or fills the organisation's warehouse. Throws QUERY_TIMEOUT, TOO_MANY_LOCKS and WAREHOUSE_FULL.
 */
export async function runStoppable<T>(
  otherConnections: Pool,
  client: PoolClient,
  { seconds, signal, subject, replacedBytes = 0 }: StatementLimits,
  statement: () => Promise<T>,
): Promise<T> {
  const session = sessionOf(client)!
  let hasTimedOut = false
  let exceededLimit: WarehouseProblem | undefined
  const stop = () => void terminateSession(otherConnections, session)
  const timer = setTimeout(
    () => {
      hasTimedOut = true
      stop()
    },
    (seconds + graceSeconds) * 1_000,
  )
  signal.addEventListener('abort', stop, { once: true })
  using _watch = loadWatch(otherConnections).watch(session, {
    writes: true,
    replacedBytes,
    stop(reason) {
      exceededLimit = reason
      stop()
    },
  })
  try {
    return await statement()
  } catch (error) {
    if (exceededLimit) throw exceededLimit
    const isTimeout = hasTimedOut && !signal.aborted
    if (!isTimeout) throw error
    const sentence = `${subject} took longer than ${seconds} seconds and was stopped. Process fewer rows or simplify it.`
    throw new WarehouseProblem('QUERY_TIMEOUT', sentence, { cause: error })
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', stop)
  }
}

/**
 * Ends a server process of the same role and waits up to two seconds. Never throws: if the server is unreachable, its
 * process is gone too.
 */
async function terminateSession(pool: Pool, session: number): Promise<void> {
  await withClient(pool, undefined, (client) => client.query(terminateQuery, [session])).catch(() => {})
}
