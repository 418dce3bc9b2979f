import type { ClientBase } from 'pg'
import { makeRoom, type RetentionPolicy } from './publishing/replaced-tables.ts'
import { type PostgresPools, type WarehouseAccess, ledgerKey, loadPool, withClient } from './postgres-connections.ts'
import { warehouseProblem } from './map-server-errors.ts'
import { limitStatements } from './queries/statement-watchdog.ts'

export interface PostgresLimits {
  /** The number of concurrent loads for which the pools have connections. */
  loads?: number
  /** The maximum size in bytes of one materialised view. */
  viewBytes?: number
  /** The maximum size in bytes of the organisation's database. Default: no limit. */
  databaseBytes?: number | undefined
  /** The maximum time, in milliseconds, that a publication waits for readers of its table. */
  waitMs?: number
  /** The number of days for which replaced tables are kept, so that a load can be undone. */
  keepDays?: number
}

/** An organisation's database: connections, limits and error translation, shared by all modules of its warehouse. */
export interface PostgresServer {
  readonly access: WarehouseAccess
  readonly pools: PostgresPools
  readonly retention: RetentionPolicy
  readonly waitMs: number
  readonly viewBytes: number
  /**
   * Runs short statements of role `load` and translates errors of the server. `subject` is what an error message names:
   * a quoted table or view, or a phrase such as `the ledger`.
   */
  run<T>(subject: string, callback: (client: ClientBase) => Promise<T>): Promise<T>
}

/** Two hours in milliseconds, which is longer than the time limit of any reader. */
const readerWaitMs = 7_200_000
const defaultViewBytes = 50 * 1024 ** 3

/** Creates the connection pools of an organisation's database. Connects at the first use. */
export function postgresServer(
  access: WarehouseAccess,
  { loads = 4, viewBytes = defaultViewBytes, databaseBytes, waitMs = readerWaitMs, keepDays = 0 }: PostgresLimits,
): PostgresServer {
  const retention = { days: keepDays, ledgerKey: ledgerKey(access.load.password) }
  // Connections for aborted loads that are still closing theirs.
  const spareConnections = 2
  const copyConnectionsPerLoad = 2
  const pools: PostgresPools = {
    copies: loadPool(access, loads * copyConnectionsPerLoad + spareConnections),
    transactions: loadPool(access, loads + spareConnections),
    statements: loadPool(access, 5),
    databaseBytes,
    makeRoom: serializeCalls((maxBytes) => makeRoom(pools.statements, retention, maxBytes)),
  }
  limitStatements(pools.statements, { databaseBytes, makeRoom: pools.makeRoom })
  return {
    access,
    pools,
    retention,
    waitMs,
    viewBytes,
    run: async (subject, callback) =>
      withClient(pools.statements, undefined, callback).catch((error: unknown) => {
        throw warehouseProblem(error, { qualifiedName: subject })
      }),
  }
}

/**
 * Returns a function that runs `task` for one call after the other, so that all calls together occupy one connection.
 * If a call with the same argument is running or waiting, a new call returns its result instead.
 */
function serializeCalls(task: (maxBytes: number) => Promise<number>): (maxBytes?: number) => Promise<number> {
  const pendingResults = new Map<number, Promise<number>>()
  let previousCall: Promise<unknown> = Promise.resolve()
  return (maxBytes = 0) => {
    const pendingResult = pendingResults.get(maxBytes)
    if (pendingResult) return pendingResult
    const result = previousCall.then(() => task(maxBytes)).finally(() => pendingResults.delete(maxBytes))
    pendingResults.set(maxBytes, result)
    // A failed call does not prevent the next one.
    previousCall = result.catch(() => {})
    return result
  }
}
