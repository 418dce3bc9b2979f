import { Client, type ClientConfig, Pool, type PoolClient } from 'pg'
import type { SessionRole } from '../sql-warehouse/sql-dialect.ts'
import type { ClientAccess } from './redshift-settings.ts'

/** A connection, and how it is given back. `broken`: nobody is to have it again. */
export interface BorrowedClient {
  client: Client | PoolClient
  release(broken: boolean): void
}

/** Where a client's connections come from. */
export interface ConnectionPool {
  open(role: SessionRole): Promise<BorrowedClient>
}

/** Signing in takes the cluster longer than most of what we ask: connections of ours are kept for so many milliseconds. */
const idle = 20_000
const most = 20

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

/** Only ours are used again: nobody gets a connection on which SQL of users ran. */
export function connectionsOf(access: ClientAccess): ConnectionPool {
  const pool = new Pool({
    ...clientConfig(access, 'service'),
    max: most,
    idleTimeoutMillis: idle,
    allowExitOnIdle: true,
  })
  pool.on('error', () => {})
  // One that breaks while somebody has it says so to them; nobody else is to die of it.
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
