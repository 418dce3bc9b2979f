import { isIPv6 } from 'node:net'
import { databaseAccess, defaultPorts } from '@sluice/contracts'
import { problems } from '@sluice/http-server'
import { connected, type SettingsOf } from './connected.ts'
import type { PipelineKind, SourceOf } from './pipeline-type.ts'

type DatabaseType = keyof typeof defaultPorts
type DatabaseBody = SourceOf<DatabaseType>
type DatabaseServer = Omit<DatabaseBody['jdbcSource'], 'password'>

/** Returns the connection URL of one system, without credentials. `host` is in brackets if it is an IPv6 address. */
type ConnectionUrl = (server: DatabaseServer & { host: string; port: number }) => string

/** A pipeline that queries a database. */
function databaseQuery<Type extends DatabaseType>(
  type: Type,
  connectionUrl: ConnectionUrl,
): PipelineKind<Type, SettingsOf<Type>> {
  const defaultPort = defaultPorts[type]
  const kind = connected<DatabaseType>({
    type,
    source: 'jdbcSource',
    secrets: databaseAccess.secrets,
    checkConnection: assertPlainHost,
    check: assertQueryOrTables,
    // The password is sent to the server at the address, with or without TLS.
    meantFor({ jdbcSource: { hostname, port = defaultPort, ssl = false, trustServerCertificate = false } }) {
      return [hostname.includes('${') ? hostname : hostname.toLowerCase(), port, ssl, trustServerCertificate]
    },
    name: ({ jdbcSource: { hostname, database } }) => `${database} at ${hostname}`.slice(0, 255),
  })
  return {
    ...kind,
    fields(settings: SettingsOf<DatabaseType>) {
      const { hostname, port = defaultPort } = settings.jdbcSource
      const host = isIPv6(hostname) ? `[${hostname}]` : hostname
      return { ...settings, defaultPort, jdbcConnectionUrl: connectionUrl({ ...settings.jdbcSource, host, port }) }
    },
  } as PipelineKind<Type, any>
}

function assertPlainHost({ jdbcSource: { hostname } }: Pick<DatabaseBody, 'jdbcSource'>): void {
  if (hostname.includes(':') && !isIPv6(hostname))
    throw problems.refused('/jdbcSource/hostname', 'The port goes into jdbcSource.port, not into the name.')
}

function assertQueryOrTables({ sqlQuery, tables = [] }: Pick<DatabaseBody, 'sqlQuery' | 'tables'>): void {
  if (sqlQuery === undefined && tables.length === 0)
    throw problems.refused('/sqlQuery', 'Select what to load: a query in sqlQuery, or tables.')
  if (sqlQuery !== undefined && tables.length > 0)
    throw problems.refused('/tables', 'Either sqlQuery or tables: leave one of them out.')
  if (sqlQuery !== undefined && sqlQuery.trim() === '')
    throw problems.refused('/sqlQuery', 'The query must not be blank.')
  if (tables.length > 1)
    throw problems.refused('/tables/1', 'This version loads one table: make another pipeline for each of the others.')
}

/** Puts a value with special characters of connection strings into braces. */
const braced = (value: string): string => (/[;{}=]/.test(value) ? `{${value.replaceAll('}', '}}')}}` : value)

/** The SSL mode of PostgreSQL and its descendants. */
const sslMode = ({ ssl, trustServerCertificate }: DatabaseServer) =>
  !ssl ? 'disable' : trustServerCertificate ? 'require' : 'verify-full'

export const sqlDatabaseA = databaseQuery(
  'SQL_DATABASE_A',
  ({ host, port, database, ssl = false, trustServerCertificate = false }) =>
    `jdbc:sqlserver://${host}:${port};databaseName=${braced(database)};encrypt=${ssl};trustServerCertificate=${trustServerCertificate}`,
)

export const sqlDatabaseB = databaseQuery('SQL_DATABASE_B', ({ host, port, database, ssl, trustServerCertificate }) => {
  const mode = !ssl ? 'DISABLED' : trustServerCertificate ? 'REQUIRED' : 'VERIFY_IDENTITY'
  return `jdbc:mysql://${host}:${port}/${encodeURIComponent(database)}?sslMode=${mode}`
})

/** `database` is the service name. */
export const sqlDatabaseC = databaseQuery(
  'SQL_DATABASE_C',
  ({ host, port, database, ssl }) =>
    `jdbc:oracle:thin:@${ssl ? 'tcps:' : ''}//${host}:${port}/${encodeURIComponent(database)}`,
)

export const sqlDatabaseD = databaseQuery('SQL_DATABASE_D', (server) => {
  const { host, port, database } = server
  return `jdbc:postgresql://${host}:${port}/${encodeURIComponent(database)}?sslmode=${sslMode(server)}`
})

export const warehouseA = databaseQuery('WAREHOUSE_A', (server) => {
  const { host, port, database } = server
  return `jdbc:redshift://${host}:${port}/${encodeURIComponent(database)}?sslmode=${sslMode(server)}`
})
