import { createHmac } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { lowerCpuPriority, isLoopback } from '@sluice/process'
import { createReusedBufferSocket } from '@sluice/database'
import { Client, Pool, type ClientConfig, type PoolClient } from 'pg'
import { loadOptions, readOptions } from './server/role-settings.ts'

interface DatabaseLogin {
  user: string
  password: string
}

/** The address and credentials of an organisation's warehouse. The process that stores them encrypts them. */
export interface WarehouseAccess {
  host: string
  port: number
  database: string
  /**
   * Absent for a connection without TLS. `true` verifies the server's certificate against the certificate
   * authorities of this machine. An object is passed to `tls.connect`.
   */
  ssl?: boolean | { ca?: string; rejectUnauthorized?: boolean }
  load: DatabaseLogin
  read: DatabaseLogin
  /**
   * The niceness (CPU priority), 0 to 19, for the server processes of these sessions. Applied if they run on this
   * machine and this process may change their priority. Use the same niceness for all warehouses; otherwise queries of
   * one organisation slow down loads of another.
   */
  niceness?: number
}

/**
 * Connection pools of role `load`. `copies` has two connections per load, for copying rows. `transactions` has one
 * connection per load, for all other steps until publication, so that no step waits for another load. `statements` is
 * for short statements.
 */
export interface PostgresPools {
  copies: Pool
  transactions: Pool
  statements: Pool
  /** The maximum size of the organisation's database, in bytes. */
  databaseBytes?: number | undefined
  /**
   * Drops kept tables of earlier publications until the database has at most `maxBytes` bytes. Without `maxBytes`,
   * drops all of them. Returns the number of publications that lost their kept tables.
   */
  makeRoom(maxBytes?: number): Promise<number>
}

const connectTimeoutMs = 5_000

/** Returns the configuration of connections to an organisation's database with this login. */
function clientConfig(access: WarehouseAccess, login: DatabaseLogin): ClientConfig {
  const { host, port, database, ssl } = access
  const application_name = 'sluice'
  return {
    host,
    port,
    database,
    ssl,
    ...login,
    application_name,
    keepAlive: true,
    connectionTimeoutMillis: connectTimeoutMs,
  }
}

/**
 * Derives the key that authorises writes to the ledger (Sluice's table of loads). Users' SQL runs as `load` too, but
 * never sees the key, which is only sent as a query parameter.
 */
export function ledgerKey(loadPassword: string): string {
  return createHmac('sha256', loadPassword).update('sluice ledger').digest('base64url')
}

/** Creates a pool for role `load`. Connections open on demand and close after 10 idle seconds. */
export function loadPool(access: WarehouseAccess, max: number): Pool {
  const login = { ...clientConfig(access, access.load), options: loadOptions }
  const pool = new Pool({ ...login, max, idleTimeoutMillis: 10_000, allowExitOnIdle: true })
  // If an idle connection dies, the pool replaces it for the next caller. Without a listener, the error event would end
  // this process.
  pool.on('error', () => {})
  pool.on('connect', (client) => {
    client.on('error', () => {})
    applyNiceness(access, client)
  })
  return pool
}

/**
 * Lowers the CPU priority of the server process that serves this connection. Does nothing without a niceness, or if the
 * process does not run on this machine.
 */
export function applyNiceness(
  { host, niceness = 0 }: Pick<WarehouseAccess, 'host' | 'niceness'>,
  client: object,
): void {
  const { processID } = client as { processID: number }
  if (niceness > 0 && isLoopback(host) && isServerProcess(processID)) lowerCpuPriority(niceness, processID)
}

/**
 * True if the pid belongs to a PostgreSQL process on this machine. A server behind a connection pooler, a tunnel or a
 * container port reports the pid of another machine, which any other process may have here. Always true on systems
 * without `/proc`.
 */
function isServerProcess(pid: number): boolean {
  try {
    return /^(\S*\/)?postgres[:\0]/.test(readFileSync(`/proc/${pid}/cmdline`, 'latin1'))
  } catch {
    return !existsSync('/proc/self/cmdline')
  }
}

/** Returns the configuration of connections with role `read`. */
export const readPoolConfig = (access: WarehouseAccess): ClientConfig => ({
  ...clientConfig(access, access.read),
  options: readOptions,
})

/** Creates one connection of role `read` for a single use. */
export function readClient(access: WarehouseAccess): Client {
  const config = readPoolConfig(access)
  const client = new Client(access.ssl ? config : { ...config, stream: () => createReusedBufferSocket() })
  client.on('error', () => {})
  client.once('connect', () => applyNiceness(access, client))
  return client
}

/**
 * Closes the connection at the socket. The server notices at once during COPY, and within a second during a long
 * statement.
 */
export function destroySocket(client: Client | PoolClient): void {
  const { connection } = client as unknown as { connection: { stream: { destroy(): void } } }
  connection.stream.destroy()
}

/**
 * A pool connection that one caller uses exclusively. Disposing it returns the connection to the pool if it was marked
 * as reusable, and closes it otherwise.
 */
export interface BorrowedConnection extends Disposable {
  client: PoolClient
  /** Marks the connection as clean: no failed transaction remains open on it. */
  markReusable(): void
  /** After this call, an abort of the signal no longer closes the connection. */
  ignoreAbort(): void
  /** True if an abort closes the connection. False after `ignoreAbort`. */
  readonly closesOnAbort: boolean
}

/**
 * Borrows a connection from the pool. Disposing it returns the connection to the pool if `markReusable` was called, and
 * otherwise closes it. Disposing twice is harmless. If `signal` aborts before that, closes the socket, unless
 * `ignoreAbort` was called.
 */
export async function borrowConnection(pool: Pool, signal?: AbortSignal): Promise<BorrowedConnection> {
  signal?.throwIfAborted()
  const client = await pool.connect()
  const abort = () => destroySocket(client)
  let isReusable = false
  let isReleased = false
  let closesOnAbort = true
  const borrowed: BorrowedConnection = {
    client,
    markReusable() {
      isReusable = true
    },
    ignoreAbort() {
      signal?.removeEventListener('abort', abort)
      closesOnAbort = false
    },
    get closesOnAbort() {
      return closesOnAbort
    },
    [Symbol.dispose]() {
      signal?.removeEventListener('abort', abort)
      if (isReleased) return
      isReleased = true
      const mustClose = !isReusable
      client.release(mustClose)
    },
  }
  // The signal may have aborted while the pool was connecting.
  if (signal?.aborted) {
    borrowed[Symbol.dispose]()
    signal.throwIfAborted()
  }
  signal?.addEventListener('abort', abort)
  return borrowed
}

/**
 * Runs `work` on an exclusive connection of the pool and returns its result. If `signal` aborts, closes the connection
 * and throws the signal's reason, unless `work` called `ignoreAbort`. After any error, the connection is closed, so
 * that the next caller never receives a connection with a failed transaction.
 */
export async function withClient<T>(
  pool: Pool,
  signal: AbortSignal | undefined,
  work: (client: PoolClient, borrowed: BorrowedConnection) => Promise<T>,
): Promise<T> {
  using borrowed = await borrowConnection(pool, signal)
  try {
    const result = await work(borrowed.client, borrowed)
    borrowed.markReusable()
    return result
  } catch (error) {
    if (borrowed.closesOnAbort) signal?.throwIfAborted()
    throw error
  }
}
