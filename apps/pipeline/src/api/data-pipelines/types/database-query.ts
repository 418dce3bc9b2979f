import { isIPv6 } from 'node:net'
import { problems } from '@sluice/http'
import type { PipelineKind, SourceOf } from './pipeline-type.ts'

type DatabaseType = 'SQL_DATABASE_A' | 'SQL_DATABASE_B' | 'SQL_DATABASE_C' | 'SQL_DATABASE_D'
type Body = SourceOf<DatabaseType>
type Server = Omit<Body['jdbcSource'], 'password'>

/** What is kept of a pipeline that asks a database. The password is kept elsewhere, sealed. */
export interface DatabaseSettings extends Pick<Body, 'sqlQuery' | 'tables' | 'roleIdentifier' | 'region'> {
  jdbcSource: Server
}

/** What is particular about one system. */
interface Dialect {
  defaultPort: number
  /** Without credentials. `host` is in brackets where it has to be. */
  connectionUrl(server: Server & { host: string; port: number }): string
}

/** A pipeline that asks a database. */
export function databaseQuery({ defaultPort, connectionUrl }: Dialect): PipelineKind<DatabaseType, DatabaseSettings> {
  return {
    scheduleable: true,
    checkConnection: demandPlainHost,
    check(source) {
      demandPlainHost(source)
      demandOneQuestion(source)
    },
    settings({ jdbcSource, sqlQuery, tables, roleIdentifier, region }) {
      const { password: _, ...server } = jdbcSource
      return { jdbcSource: server, sqlQuery, tables, roleIdentifier, region }
    },
    secrets: ({ jdbcSource }) => ({ password: jdbcSource.password }),
    // A password goes to whoever answers at the address, and by TLS or not as was meant when it was given.
    movesTo: ({ jdbcSource: before }, { jdbcSource: after }) =>
      (['hostname', 'port', 'ssl', 'trustServerCertificate'] as const).some(
        (name) => normal(before, name) !== normal(after, name),
      )
        ? '/jdbcSource/password'
        : undefined,
    fields(settings) {
      const { hostname, port = defaultPort } = settings.jdbcSource
      const host = isIPv6(hostname) ? `[${hostname}]` : hostname
      return { ...settings, defaultPort, jdbcConnectionUrl: connectionUrl({ ...settings.jdbcSource, host, port }) }
    },
    sourceName: ({ jdbcSource: { hostname, database } }) => `${database} at ${hostname}`.slice(0, 255),
  }

  function normal(server: Server, name: 'hostname' | 'port' | 'ssl' | 'trustServerCertificate') {
    const defaults = { hostname: '', port: defaultPort, ssl: false, trustServerCertificate: false }
    const value = server[name] ?? defaults[name]
    return typeof value === 'string' ? value.toLowerCase() : value
  }
}

function demandPlainHost({ jdbcSource: { hostname } }: Body): void {
  if (hostname.includes(':') && !isIPv6(hostname))
    throw problems.refused('/jdbcSource/hostname', 'The port goes into jdbcSource.port, not behind the name.')
}

function demandOneQuestion({ sqlQuery, tables = [] }: Body): void {
  if (sqlQuery === undefined && tables.length === 0)
    throw problems.refused('/sqlQuery', 'Say what to load: a query in sqlQuery, or tables.')
  if (sqlQuery !== undefined && tables.length > 0)
    throw problems.refused('/tables', 'Either sqlQuery or tables: leave one of them out.')
  if (sqlQuery !== undefined && sqlQuery.trim() === '')
    throw problems.refused('/sqlQuery', 'The query must not be blank.')
  if (tables.length > 1)
    throw problems.refused('/tables/1', 'A pipeline loads one table: make another pipeline for each of the others.')
}
