import { isIPv6 } from 'node:net'
import { databaseAccess, defaultPorts } from '@sluice/contracts'
import { defineConnectedSource } from '../settings/define-connected-source.ts'
import { type ConnectorDefinition, InvalidSetting, type SourceOf } from '../settings/connector-definition.ts'
import type { DatabaseProduct, DatabaseType } from './database-product.ts'
import { findNameClash, nameAdditionalTables } from './additional-tables.ts'

type DatabaseBody = SourceOf<DatabaseType>

/** Defines the settings of a connector that reads a query or a table of a database. */
export function defineDatabaseConnector<Type extends DatabaseType>(
  type: Type,
  { formatConnectionUrl }: DatabaseProduct,
): ConnectorDefinition<Type, SourceOf<Type>> {
  const defaultPort = defaultPorts[type]
  const definition = defineConnectedSource<DatabaseType>({
    type,
    connectionField: 'jdbcSource',
    secretFields: databaseAccess.secrets,
    assertConnection: assertPlainHost,
    assertSettings(body) {
      assertQueryOrTables(body)
      assertIncrements(body)
    },
    // The password may only be sent to the server for which it was entered, and only with the same TLS settings.
    getSecretAudience({ jdbcSource: { hostname, port = defaultPort, ssl = false, trustServerCertificate = false } }) {
      return [hostname.includes('${') ? hostname : hostname.toLowerCase(), port, ssl, trustServerCertificate]
    },
    formatSourceName: ({ jdbcSource: { hostname, database } }) => `${database} at ${hostname}`.slice(0, 255),
  })
  return {
    ...definition,
    getResponseFields(settings: SourceOf<DatabaseType>) {
      const { hostname, port = defaultPort } = settings.jdbcSource
      const host = isIPv6(hostname) ? `[${hostname}]` : hostname
      return {
        ...settings,
        defaultPort,
        jdbcConnectionUrl: formatConnectionUrl({ ...settings.jdbcSource, host, port }),
      }
    },
  } as ConnectorDefinition<Type, any>
}

/** Throws if the host name includes a port. */
function assertPlainHost({ jdbcSource: { hostname } }: Pick<DatabaseBody, 'jdbcSource'>): void {
  if (hostname.includes(':') && !isIPv6(hostname))
    throw new InvalidSetting(
      '/jdbcSource/hostname',
      'The host name contains a colon. Enter the port in jdbcSource.port instead.',
    )
}

function assertQueryOrTables({ sqlQuery, tables = [] }: Pick<DatabaseBody, 'sqlQuery' | 'tables'>): void {
  if (sqlQuery === undefined && tables.length === 0)
    throw new InvalidSetting('/sqlQuery', 'Select what to load: a query in sqlQuery, or tables.')
  if (sqlQuery !== undefined && tables.length > 0)
    throw new InvalidSetting('/tables', 'Send either sqlQuery or tables, not both.')
  if (sqlQuery !== undefined && sqlQuery.trim() === '')
    throw new InvalidSetting('/sqlQuery', 'sqlQuery is blank. Enter a query that begins with SELECT.')
  assertDistinctTables(tables)
}

/** Throws if two entries would fill the same table. */
function assertDistinctTables(tables: NonNullable<DatabaseBody['tables']>): void {
  // The name of the own table is unknown here. It does not matter, because all names start with it.
  const tableNames = nameAdditionalTables('…', tables)
  // Names with variables are unknown here too, so they count as distinct. A run checks them after it has replaced the
  // variables.
  const names = tableNames.map((name, index) => (tables[index]!.name.includes('${') ? `${index}` : name))
  const clash = findNameClash(tables, names)
  if (clash) throw new InvalidSetting(`/tables/${clash.index}`, clash.message)
}

/**
 * Throws if only some tables have `incremental`. A load either merges into all of its tables or replaces all of them.
 */
function assertIncrements({ incremental, tables = [] }: Pick<DatabaseBody, 'incremental' | 'tables'>): void {
  // This setting of the pipeline applies to each table without its own.
  if (incremental) return
  const firstIndexWithout = tables.findIndex((table) => !table.incremental)
  const allHaveIncremental = firstIndexWithout < 0
  const noneHasIncremental = tables.every((table) => !table.incremental)
  if (allHaveIncremental || noneHasIncremental) return
  throw new InvalidSetting(
    `/tables/${firstIndexWithout}/incremental`,
    'A load merges all of its tables or replaces them. Set `incremental` for this table too, or once for the whole pipeline.',
  )
}
