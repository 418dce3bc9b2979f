import { setTimeout as sleep } from 'node:timers/promises'
import { Pool, type PoolClient } from 'pg'
import { WarehouseProblem } from '../warehouse.ts'
import { readPoolConfig, type WarehouseAccess } from './access.ts'
import { freeBytes, warehouseFull } from './database-limit.ts'

/** Locks that a statement of a user may hold. The table of locks is the whole server's: who fills it stops every database. */
const mostLocks = 2_000

/** Milliseconds between two looks, and looks between two at the size of the database. */
const interval = 250
const looksForSize = 12

export interface WatchLimits {
  /** Bytes that the client's database may have; no limit when absent. */
  databaseBytes?: number | undefined
  /** Drops what could go, until the database has no more bytes than these. */
  makeRoom?(mostBytes: number): Promise<number>
}

interface Watched {
  /** Called once, when the statement goes beyond its limits. */
  stop(reason: WarehouseProblem): void
  /** Whether the statement writes. */
  writes: boolean
  /** Bytes of tables that its load replaces. The database may have these beyond its limit. */
  replaced?: number
}

/**
 * Looks at sessions in which SQL of users runs, from a connection that is open before the server could be full, and stops those that
 * hold too many locks or fill the disk. It opens its connection for statements that take longer than a look.
 */
export class StatementWatch {
  readonly #pool: Pool
  readonly #limits: WatchLimits
  readonly #watched = new Map<number, Watched>()
  #looking = false

  constructor(pool: Pool, limits: WatchLimits = {}) {
    this.#pool = pool
    this.#limits = limits
  }

  /** Watches the session of a process number until it is disposed of. */
  watch(session: number, watched: Watched): Disposable {
    this.#watched.set(session, watched)
    if (!this.#looking) void this.#look()
    return {
      [Symbol.dispose]: () => {
        if (this.#watched.get(session) === watched) this.#watched.delete(session)
      },
    }
  }

  async #look(): Promise<void> {
    this.#looking = true
    let client: PoolClient | undefined
    let failed = false
    try {
      for (let look = 1; ; look += 1) {
        await sleep(interval)
        if (this.#watched.size === 0) return
        client ??= await this.#pool.connect()
        await this.#assertFewLocks(client)
        if (look % looksForSize === 0) await this.#assertRoom(client)
      }
    } catch {
      // The server is away or full. Whatever still runs is watched anew below.
      failed = true
    } finally {
      client?.release(failed)
      this.#looking = false
      if (this.#watched.size > 0) void this.#look()
    }
  }

  async #assertFewLocks(client: PoolClient): Promise<void> {
    const { rows } = await client.query<{ pid: number; locks: number }>(
      'select pid, count(*)::int as locks from pg_locks where pid = any($1) group by pid having count(*) > $2',
      [[...this.#watched.keys()], mostLocks],
    )
    for (const { pid, locks } of rows) this.#stop(pid, tooManyLocks(locks))
  }

  async #assertRoom(client: PoolClient): Promise<void> {
    const { databaseBytes, makeRoom } = this.#limits
    const writers = [...this.#watched].filter(([, { writes }]) => writes)
    if (databaseBytes === undefined || writers.length === 0) return
    const tooMuch = (free: number) => writers.filter(([, { replaced = 0 }]) => free + replaced < 0)
    if (tooMuch(await freeBytes(client, databaseBytes)).length === 0) return
    await makeRoom?.(databaseBytes)
    for (const [pid] of tooMuch(await freeBytes(client, databaseBytes))) this.#stop(pid, warehouseFull(databaseBytes))
  }

  #stop(session: number, reason: WarehouseProblem): void {
    const watched = this.#watched.get(session)
    this.#watched.delete(session)
    watched?.stop(reason)
  }
}

const watches = new WeakMap<object, StatementWatch>()
const readPools = new WeakMap<WarehouseAccess, Pool>()

/** Has the sessions that are stopped from this pool watched within limits. */
export function limitStatements(pool: Pool, limits: WatchLimits): void {
  watches.set(pool, new StatementWatch(pool, limits))
}

/** The watch over sessions of role `load`, from connections of that role. */
export function loadWatch(pool: Pool): StatementWatch {
  return watchOf(pool, () => pool)
}

/** The watch over sessions of role `read`, from a connection of its own. */
export function readWatch(access: WarehouseAccess): StatementWatch {
  return watchOf(access, () => {
    const pool = new Pool({ ...readPoolConfig(access), max: 1, idleTimeoutMillis: 1_000, allowExitOnIdle: true })
    pool.on('error', () => {})
    readPools.set(access, pool)
    return pool
  })
}

/** Closes the connection that watches readers, if there is one. */
export async function endReadWatch(access: WarehouseAccess): Promise<void> {
  watches.delete(access)
  await readPools.get(access)?.end()
  readPools.delete(access)
}

function watchOf(key: object, poolOf: () => Pool): StatementWatch {
  const known = watches.get(key)
  if (known) return known
  const watch = new StatementWatch(poolOf())
  watches.set(key, watch)
  return watch
}

const tooManyLocks = (locks: number) =>
  new WarehouseProblem(
    'TOO_MANY_LOCKS',
    `The statement held ${locks.toLocaleString('en')} locks and was stopped: ${mostLocks.toLocaleString('en')} are allowed, one for each table, index or sequence that it touches. Split it into several statements.`,
  )
