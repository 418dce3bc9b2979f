import type { defaultPorts, SourceBody } from '@sluice/contracts'

export type DatabaseType = keyof typeof defaultPorts

/** The stored connection settings of a database, without the password. */
export type StoredConnection = Omit<Extract<SourceBody, { type: DatabaseType }>['jdbcSource'], 'password'>

/** The parts of a database connector that work without its driver. */
export interface DatabaseProduct {
  /**
   * The folder of the connector, such as `mysql`. Its file `<kind>-session.ts` exports `engine` and imports the driver.
   */
  kind: string
  /** Returns the connection URL without credentials. `host` is in brackets if it is an IPv6 address. */
  formatConnectionUrl(connection: StoredConnection & { host: string; port: number }): string
  /**
   * A query for the schema and name of all tables and views that the login may read, without system tables. It has no
   * ORDER BY, because some databases cannot describe a sorted query.
   */
  tablesQuery: string
}

/** Returns the value of `sslmode` for PostgreSQL and databases that derive from it. */
export function getSslMode({ ssl, trustServerCertificate }: StoredConnection) {
  if (!ssl) return 'disable'
  return trustServerCertificate ? 'require' : 'verify-full'
}
