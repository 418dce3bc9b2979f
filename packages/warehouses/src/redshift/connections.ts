import { Client, type ClientConfig, Pool, type PoolClient } from 'pg'
import type { SessionRole } from '../sql-warehouse/sql-dialect.ts'
import type { ClientAccess } from './redshift-settings.ts'

/** A connection and its release function. `broken` excludes the connection from reuse. */
export interface BorrowedClient {
  client: Client | PoolClient
  release(broken: boolean): void
}

export interface ConnectionPool {
  open(role: SessionRole): Promise<BorrowedClient>
}

/**
 * Milliseconds to keep an idle connection of the service. Signing in takes longer on the cluster than most of the service's statements.
 */
const idleTimeoutMs = 20_000
const maxConnections = 20

export const clientConfig = (access: ClientAccess, role: SessionRole, database = access.database): ClientConfig => ({
  host: access.host,
  port: access.port,
  database,
  ...access.logins[role],
  ssl: access.ssl,
  connectionTimeoutMillis: 30_000,
  keepAlive: true,
  application_name: 'sluice',
})

/** Returns a pool of connections. It reuses only the service's connections, and never one that has run user SQL. */
export function connectionsOf(access: ClientAccess): ConnectionPool {
  const pool = new Pool({
    ...clientConfig(access, 'service'),
    max: maxConnections,
    idleTimeoutMillis: idleTimeoutMs,
    allowExitOnIdle: true,
  })
  pool.on('error', () => {})
  // A connection that breaks in use reports the error to its user; this handler keeps the error from ending the process.
  pool.on('connect', (client) => client.on('error', () => {}))
  return {
    async open(role) {
      if (role === 'service') {
        const client = await pool.connect()
        return { client, release: (broken) => client.release(broken) }
      }
      const client = new Client(clientConfig(access, role))
      client.on('error', () => {})
      await client.connect()
      return { client, release: () => void client.end().catch(() => {}) }
    },
  }
}
