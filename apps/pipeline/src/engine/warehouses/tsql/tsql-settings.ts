import { createHmac } from 'node:crypto'
import type { SessionRole } from '../sql-warehouse/sql-dialect.ts'
import type { DatabaseHome } from './names.ts'

/** How to get in. */
export interface DatabaseLogin {
  host: string
  port: number
  database: string
  user: string
  password: string
  encrypt: boolean
  /** Whether any certificate will do. */
  trustServerCertificate: boolean
  /** What a session asks for where the server refuses READ COMMITTED. */
  isolation?: 'READ_UNCOMMITTED'
}

/** One client's part of a server. */
export interface ClientAccess extends DatabaseHome {
  /** Lower-case letters and digits. */
  key: string
  database: string
  /** Whether the client has a database of its own, rather than schemas in one that is there. */
  ownDatabase: boolean
  logins: Readonly<Record<SessionRole, DatabaseLogin>>
  /** As `service`, where logins and databases are made. */
  master: DatabaseLogin
}

/** What the passwords of a client's roles elsewhere are: those here are derived from them, and do not give them away. */
export interface Credentials {
  key: string
  loadPassword: string
  readPassword: string
}

/**
 * From an operator's URL, `mssql://user:password@host:1433/database?encrypt=true&trustServerCertificate=false`. Without a database each
 * client gets one; with one, schemas in it that begin with its name.
 */
export function tsqlAccess(url: string, { key, loadPassword, readPassword }: Credentials): ClientAccess {
  const given = new URL(url)
  const named = decodeURIComponent(given.pathname.slice(1))
  const database = named || `c_${key}`
  const flag = (name: string, usual: boolean) => {
    const value = given.searchParams.get(name)
    return value === null ? usual : value === 'true'
  }
  const server = {
    host: given.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: Number(given.port || 1433),
    encrypt: flag('encrypt', true),
    trustServerCertificate: flag('trustServerCertificate', false),
  }
  const service = { user: decodeURIComponent(given.username), password: decodeURIComponent(given.password) }
  const derived = (password: string) => ({ password: derivedPassword(password) })
  return {
    key,
    database,
    ownDatabase: named === '',
    prefix: named === '' ? '' : `c_${key}_`,
    ledger: named === '' ? 'sluice' : `c_${key}`,
    master: { ...server, ...service, database: 'master' },
    logins: {
      service: { ...server, ...service, database },
      load: { ...server, database, user: `c_${key}_load`, ...derived(loadPassword) },
      read: { ...server, database, user: `c_${key}_read`, ...derived(readPassword) },
    },
  }
}

/** With a letter of each kind, a digit and a sign in any case, as servers may demand. */
const derivedPassword = (password: string): string =>
  `Aa1-${createHmac('sha256', password).update('sql-server').digest('base64url')}`
