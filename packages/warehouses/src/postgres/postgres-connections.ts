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

/** The address and credentials of a client's warehouse. The process that stores them encrypts them. */
export interface WarehouseAccess {
  host: string
  port: number
  database: string
  /** `true` verifies the server's certificate against the system's authorities; an object goes to `tls.connect`. */
  ssl?: boolean | { ca?: string; rejectUnauthorized?: boolean }
  load: DatabaseLogin
  read: DatabaseLogin
  /**
   * Niceness, 0 to 19, of the server's processes for these sessions. It applies if they run on this machine and this
   * process may change their priority. All sessions of all warehouses must have the same niceness, so that queries of
   * one organisation do not starve the loads of others.
   */
  niceness?: number
}

/**
 * Connection pools of role `load`. `copies` has two connections per load, for copying rows. `transactions` has one per load, for
 * all other steps up to the publication, so that no step waits for another load. `statements` is for short statements.
 */
export interface PostgresPools {
  copies: Pool
  transactions: Pool
  statements: Pool
  /** Bytes that the client's database may have. */
  databaseBytes?: number | undefined
  /** Drops kept tables of earlier publications until the database has at most this many bytes; returns the number of publications. */
  makeRoom(mostBytes?: number): Promise<number>
}

const connectTimeout = 5_000

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
    connectionTimeoutMillis: connectTimeout,
  }
}

/**
 * Returns the key for writing to the ledger. Users' SQL runs as `load` too, in sessions that never see the key: it is only sent
 * as a parameter.
 */
export function ledgerKey(loadPassword: string): string {
  return createHmac('sha256', loadPassword).update('sluice ledger').digest('base64url')
}

/** Connections of role `load`, opened when first needed and closed after ten idle seconds. */
export function loadPool(access: WarehouseAccess, max: number): Pool {
  const login = { ...clientConfig(access, access.load), options: loadOptions }
  const pool = new Pool({ ...login, max, idleTimeoutMillis: 10_000, allowExitOnIdle: true })
  // A connection that dies while idle is replaced by the next caller; without a listener it would end the process.
  pool.on('error', () => {})
  pool.on('connect', (client) => {
    client.on('error', () => {})
    applyNiceness(access, client)
  })
  return pool
}

/** Lowers the priority of the session's process where that process is on this machine. */
export function applyNiceness(
  { host, niceness = 0 }: Pick<WarehouseAccess, 'host' | 'niceness'>,
  client: object,
): void {
  const { processID } = client as { processID: number }
  if (niceness > 0 && isLoopback(host) && isServerProcess(processID)) lowerCpuPriority(niceness, processID)
}

/**
 * Returns whether a process is a PostgreSQL process. If a connection pooler, a tunnel or a container's published port is in
 * between, the server reports a pid that belongs to another process on this machine. True on systems without `/proc`.
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

/** Returns one connection of role `read`, for a single use. */
export function readClient(access: WarehouseAccess): Client {
  const config = readPoolConfig(access)
  const client = new Client(access.ssl ? config : { ...config, stream: () => createReusedBufferSocket() })
  client.on('error', () => {})
  client.once('connect', () => applyNiceness(access, client))
  return client
}

/** Cuts the connection at the socket. The server notices at once in COPY, and within a second in a long statement. */
export function destroySocket(client: Client | PoolClient): void {
  const { connection } = client as unknown as { connection: { stream: { destroy(): void } } }
  connection.stream.destroy()
}

/** A pool connection with one user. Disposing closes it, unless it was marked as reusable. */
export interface BorrowedConnection extends Disposable {
  client: PoolClient
  /** Marks that no failed transaction remains on the connection. */
  markReusable(): void
  /** After this call, an abort does not cut the connection. */
  ignoreAbort(): void
  /** False after `ignoreAbort`. */
  readonly cuttable: boolean
}

/** Borrows a connection. If `signal` aborts before it is disposed of, its socket is closed. Disposing twice is harmless. */
export async function borrowConnection(pool: Pool, signal?: AbortSignal): Promise<BorrowedConnection> {
  signal?.throwIfAborted()
  const client = await pool.connect()
  const abort = () => destroySocket(client)
  let [failed, back, cuttable] = [true, false, true]
  const spare = () => {
    signal?.removeEventListener('abort', abort)
    cuttable = false
  }
  const borrowed: BorrowedConnection = {
    client,
    markReusable: () => (failed = false),
    ignoreAbort: spare,
    get cuttable() {
      return cuttable
    },
    [Symbol.dispose]() {
      signal?.removeEventListener('abort', abort)
      if (!back) client.release(failed)
      back = true
    },
  }
  if (signal?.aborted) borrowed[Symbol.dispose]()
  signal?.throwIfAborted()
  signal?.addEventListener('abort', abort)
  return borrowed
}

/**
 * Runs `work` on its own connection, which is cut when `signal` aborts, unless `ignoreAbort` was called; the signal's reason is
 * thrown. After any error the connection is closed, so the next caller never receives a failed transaction.
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
    if (borrowed.cuttable) signal?.throwIfAborted()
    throw error
  }
}
