import { createHmac } from 'node:crypto'
import type { SessionRole } from '../sql-warehouse/sql-dialect.ts'
import type { DatabaseHome } from './sql-identifiers.ts'

export interface DatabaseLogin {
  host: string
  port: number
  database: string
  user: string
  password: string
  encrypt: boolean
  /** True if the connection accepts any server certificate. */
  trustServerCertificate: boolean
  /** The isolation level of a session. Set for servers that reject READ COMMITTED. */
  isolation?: 'READ_UNCOMMITTED'
}

export interface ClientAccess extends DatabaseHome {
  /** The organisation's short name in the warehouse: lower-case letters and digits. */
  key: string
  database: string
  /** True if the organisation has its own database, false if it has only schemas in an existing one. */
  ownDatabase: boolean
  logins: Readonly<Record<SessionRole, DatabaseLogin>>
  /** The login of `service` for the database in which logins and databases are created. */
  master: DatabaseLogin
}

/**
 * An organisation's passwords in other warehouses. Its SQL Server passwords are derived from them, and do not reveal
 * them.
 */
export interface RoleCredentials {
  key: string
  loadPassword: string
  readPassword: string
}

/**
 * Parses an operator's URL, `mssql://user:password@host:1433/database?encrypt=true&trustServerCertificate=false`. If
 * the URL names no database, each organisation gets its own database. Otherwise each gets schemas in that database,
 * with the prefix `c_<key>_`.
 */
export function tsqlAccess(url: string, { key, loadPassword, readPassword }: RoleCredentials): ClientAccess {
  const parsedUrl = new URL(url)
  const sharedDatabase = decodeURIComponent(parsedUrl.pathname.slice(1))
  const ownDatabase = sharedDatabase === ''
  const database = ownDatabase ? `c_${key}` : sharedDatabase
  const readFlag = (name: string, fallback: boolean) => {
    const value = parsedUrl.searchParams.get(name)
    return value === null ? fallback : value === 'true'
  }
  const server = {
    // Removes the brackets of an IPv6 address.
    host: parsedUrl.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: Number(parsedUrl.port || 1433),
    encrypt: readFlag('encrypt', true),
    trustServerCertificate: readFlag('trustServerCertificate', false),
  }
  const service = { user: decodeURIComponent(parsedUrl.username), password: decodeURIComponent(parsedUrl.password) }
  return {
    key,
    database,
    ownDatabase,
    prefix: ownDatabase ? '' : `c_${key}_`,
    ledger: ownDatabase ? 'sluice' : `c_${key}`,
    master: { ...server, ...service, database: 'master' },
    logins: {
      service: { ...server, ...service, database },
      load: { ...server, database, user: `c_${key}_load`, password: derivePassword(loadPassword) },
      read: { ...server, database, user: `c_${key}_read`, password: derivePassword(readPassword) },
    },
  }
}

/**
 * Derives a password. It always contains upper-case and lower-case characters, a digit and a sign, because servers may
 * require them.
 */
const derivePassword = (password: string): string =>
  `Aa1-${createHmac('sha256', password).update('sql-server').digest('base64url')}`
