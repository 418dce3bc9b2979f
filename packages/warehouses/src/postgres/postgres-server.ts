import type { ClientBase } from 'pg'
import { makeRoom, type RetentionPolicy } from './publication/kept-tables.ts'
import { type PostgresPools, type WarehouseAccess, ledgerKey, loadPool, withClient } from './postgres-connections.ts'
import { warehouseProblem } from './problems.ts'
import { limitStatements } from './queries/statement-watch.ts'

export interface PostgresLimits {
  loads?: number
  /** Bytes of one materialised view, and of the client's database. */
  viewBytes?: number
  databaseBytes?: number | undefined
  /** Milliseconds that staged rows wait for readers of their table. */
  waitMs?: number
  /** The number of days for which replaced tables are kept. */
  keepDays?: number
}

/** A client's database, as all parts of its warehouse use it. */
export interface PostgresServer {
  readonly access: WarehouseAccess
  readonly pools: PostgresPools
  readonly retention: RetentionPolicy
  readonly waitMs: number
  readonly viewBytes: number
  /** Runs short statements of role `load`. `qualifiedName` is the subject of the sentence if the server reports an error. */
  run<T>(qualifiedName: string, callback: (client: ClientBase) => Promise<T>): Promise<T>
}

/** Two hours, which is longer than the time limit of any reader. */
const readerWaitMs = 7_200_000
const defaultViewBytes = 50 * 1024 ** 3

/** Returns the connections to a client's database. None is open before its first use. */
export function postgresServer(
  access: WarehouseAccess,
  { loads = 4, viewBytes = defaultViewBytes, databaseBytes, waitMs = readerWaitMs, keepDays = 0 }: PostgresLimits,
): PostgresServer {
  const retention = { days: keepDays, ledgerKey: ledgerKey(access.load.password) }
  // Two more connections serve aborted loads that are still closing theirs.
  const pools: PostgresPools = {
    copies: loadPool(access, 2 * loads + 2),
    transactions: loadPool(access, loads + 2),
    statements: loadPool(access, 5),
    databaseBytes,
    makeRoom: oneAtATime((limit) => makeRoom(pools.statements, retention, limit)),
  }
  limitStatements(pools.statements, { databaseBytes, makeRoom: pools.makeRoom })
  return {
    access,
    pools,
    retention,
    waitMs,
    viewBytes,
    run: async (qualifiedName, callback) =>
      withClient(pools.statements, undefined, callback).catch((error: unknown) => {
        throw warehouseProblem(error, { qualifiedName })
      }),
  }
}

/** Runs one call at a time, so that all callers occupy one connection. Pending calls with the same argument share their result. */
function oneAtATime(task: (limit: number) => Promise<number>): (limit?: number) => Promise<number> {
  const pending = new Map<number, Promise<number>>()
  let last: Promise<unknown> = Promise.resolve()
  return (limit = 0) => {
    const shared = pending.get(limit)
    if (shared) return shared
    const result = last.then(() => task(limit)).finally(() => pending.delete(limit))
    pending.set(limit, result)
    last = result.catch(() => {})
    return result
  }
}
