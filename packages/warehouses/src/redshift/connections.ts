import { Client, type ClientConfig, Pool, type PoolClient } from 'pg'
import type { SessionRole } from '../sql-warehouse/sql-dialect.ts'
import type { ClientAccess } from './redshift-settings.ts'

/** A connection and the function that releases it. */
export interface BorrowedClient {
  client: Client | PoolClient
  /** Returns the connection to its pool, or closes it if it is broken or does not belong to the pool. */
  release(isBroken: boolean): void
}

export interface ConnectionPool {
  /** Returns an open connection for this role. */
  open(role: SessionRole): Promise<BorrowedClient>
}

/**
 * Milliseconds for which an idle connection of Sluice's own user stays open. Opening a connection to Redshift takes
 * longer than most of Sluice's statements.
 */
const idleTimeoutMs = 20_000
const maxConnections = 20

/** Returns the configuration of a connection. Default: to the organisation's database. */
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

/**
 * Creates a connection pool for an organisation's database. It reuses only connections of Sluice's own user. Users' SQL
 * runs as the other users, so their connections are closed when they are released.
 */
export function createConnectionPool(access: ClientAccess): ConnectionPool {
  const pool = new Pool({
    ...clientConfig(access, 'service'),
    max: maxConnections,
    idleTimeoutMillis: idleTimeoutMs,
    allowExitOnIdle: true,
  })
  pool.on('error', () => {})
  // The caller that uses a broken connection receives the error. Without this handler, the error event would also end
  // the process.
  pool.on('connect', (client) => client.on('error', () => {}))
  return {
    async open(role) {
      if (role === 'service') {
        const client = await pool.connect()
        return { client, release: (isBroken) => client.release(isBroken) }
      }
      const client = new Client(clientConfig(access, role))
      client.on('error', () => {})
      await client.connect()
      return { client, release: () => void client.end().catch(() => {}) }
    },
  }
}
