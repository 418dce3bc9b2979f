import type { defaultPorts, SourceBody } from '@sluice/contracts'

export type DatabaseType = keyof typeof defaultPorts

/** The connection of a database as it is stored, without the password. */
export type StoredConnection = Omit<Extract<SourceBody, { type: DatabaseType }>['jdbcSource'], 'password'>

/** A database product. Its module imports no driver. */
export interface DatabaseProduct {
  /** Folder of the connector. Its `<kind>-session.ts` exports `engine` and imports the driver. */
  kind: string
  /** Returns the connection URL without credentials. `host` is in brackets if it is an IPv6 address. */
  formatConnectionUrl(connection: StoredConnection & { host: string; port: number }): string
  /**
   * Lists schema and name of the tables and views that the login may read, without system tables. It has no ORDER BY,
   * because not every database can describe a query with one.
   */
  tablesQuery: string
}

/** Returns the SSL mode of PostgreSQL and its descendants. */
export const sslMode = ({ ssl, trustServerCertificate }: StoredConnection) =>
  !ssl ? 'disable' : trustServerCertificate ? 'require' : 'verify-full'
