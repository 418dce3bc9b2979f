import { Client, type ClientConfig, Pool, type PoolClient } from 'pg'
import type { SessionRole } from '../sql-warehouse/sql-dialect.ts'
import type { ClientAccess } from './redshift-settings.ts'

/** A connection and the function that releases it. Releasing it with `broken` prevents reuse. */
export interface BorrowedClient {
  client: Client | PoolClient
  release(broken: boolean): void
}

export interface ConnectionPool {
  open(role: SessionRole): Promise<BorrowedClient>
}

/**
 * Milliseconds for which an idle connection of Sluice's own user stays open. Opening a connection to Redshift takes
 * longer than most of Sluice's statements.
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

/** Creates a connection pool. It reuses only connections of Sluice's own user, and none on which users' SQL ran. */
export function connectionsOf(access: ClientAccess): ConnectionPool {
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
        return { client, release: (broken) => client.release(broken) }
      }
      const client = new Client(clientConfig(access, role))
      client.on('error', () => {})
      await client.connect()
      return { client, release: () => void client.end().catch(() => {}) }
    },
  }
}
