import { createHmac } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { lowerCpuPriority, isLoopback } from '@sluice/process'
import { Client, Pool, type ClientConfig, type PoolClient } from 'pg'
import { loadOptions, readOptions } from './role-settings.ts'

interface DatabaseLogin {
  user: string
  password: string
}

/** Where a client's warehouse is and how to get in. Kept encrypted by whoever stores it. */
export interface WarehouseAccess {
  host: string
  port: number
  database: string
  /** `true` verifies the server's certificate against the system's authorities; an object goes to `tls.connect`. */
  ssl?: boolean | { ca?: string; rejectUnauthorized?: boolean }
  load: DatabaseLogin
  read: DatabaseLogin
  /**
   * Niceness, 0 to 19, of the server's processes for these sessions. It applies if they run on this machine and this process may change
   * their priority. All sessions of all warehouses have the same niceness. Otherwise, queries of one organisation would starve the
   * loads of the others.
   */
  niceness?: number
}

const connectTimeout = 5_000

function settings(access: WarehouseAccess, login: DatabaseLogin): ClientConfig {
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
 * What the ledger is written with. SQL of users runs as `load` too, in sessions that never see this: it is only ever sent
 * as a parameter.
 */
export function ledgerKey(loadPassword: string): string {
  return createHmac('sha256', loadPassword).update('sluice ledger').digest('base64url')
}

/** Connections of role `load`, opened when first needed and closed after ten idle seconds. */
export function loadPool(access: WarehouseAccess, max: number): Pool {
  const login = { ...settings(access, access.load), options: loadOptions }
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
 * Whether a process is one of PostgreSQL. Behind a connection pooler, a tunnel or the published port of a container, the server tells a
 * number that stands for something else on this machine. True on systems without `/proc`.
 */
function isServerProcess(pid: number): boolean {
  try {
    return /^(\S*\/)?postgres[:\0]/.test(readFileSync(`/proc/${pid}/cmdline`, 'latin1'))
  } catch {
    return !existsSync('/proc/self/cmdline')
  }
}

/** How connections of role `read` are made. */
export const readPoolConfig = (access: WarehouseAccess): ClientConfig => ({
  ...settings(access, access.read),
  options: readOptions,
})

/** One connection of role `read`, to be thrown away after use. */
export function readClient(access: WarehouseAccess): Client {
  const client = new Client(readPoolConfig(access))
  client.on('error', () => {})
  client.once('connect', () => applyNiceness(access, client))
  return client
}

/** Cuts the connection at the socket. The server notices at once in COPY, and within a second in a long statement. */
export function destroySocket(client: Client | PoolClient): void {
  const { connection } = client as unknown as { connection: { stream: { destroy(): void } } }
  connection.stream.destroy()
}

/** A connection of a pool, in one hand. It is closed at its disposal, not reused, unless it was called sound. */
export interface Borrowed extends Disposable {
  client: PoolClient
  /** Nothing of a failed transaction is left on it. */
  markReusable(): void
  /** From now on an abort lets it be. */
  ignoreAbort(): void
  /** False once it was spared. */
  readonly cuttable: boolean
}

/** Cut when `signal` aborts, until it is disposed of. Disposing twice is harmless. */
export async function borrow(pool: Pool, signal?: AbortSignal): Promise<Borrowed> {
  signal?.throwIfAborted()
  const client = await pool.connect()
  const abort = () => destroySocket(client)
  let [failed, back, cuttable] = [true, false, true]
  const spare = () => {
    signal?.removeEventListener('abort', abort)
    cuttable = false
  }
  const borrowed: Borrowed = {
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
 * Runs `work` on a connection of its own, which is cut when `signal` aborts, unless it is spared: the signal's reason
 * comes out.
 * After any error the connection is closed, so nothing of a failed transaction reaches the next caller.
 */
export async function withClient<T>(
  pool: Pool,
  signal: AbortSignal | undefined,
  work: (client: PoolClient, borrowed: Borrowed) => Promise<T>,
): Promise<T> {
  using borrowed = await borrow(pool, signal)
  try {
    const result = await work(borrowed.client, borrowed)
    borrowed.markReusable()
    return result
  } catch (error) {
    if (borrowed.cuttable) signal?.throwIfAborted()
    throw error
  }
}
