import { warehouseTypes } from '@sluice/contracts/connector-types'
import type { NewWarehouseReader, WarehouseReader } from '@sluice/contracts'
import { isLoopback } from '@sluice/process'
import type { ReaderServer } from '@sluice/warehouses/warehouse-reader-logins'
import { postgresReaders } from '@sluice/warehouses/postgres/server/reader-roles'
import type { WarehouseDriver } from '@sluice/warehouses/registry/warehouse-registry'
import type { WarehouseKind } from '@sluice/warehouses/warehouse-kinds'

type Connection = Required<WarehouseReader['connection']>

/** The server of one kind of warehouse, and how programs with the login of a warehouse reader connect to it. */
export interface ReaderEndpoint {
  server: ReaderServer
  /** The address for warehouse readers. Undefined if the operator still has to configure it with `addressSetting`. */
  address: { host: string; port: number } | undefined
  addressSetting: string
  sslMode: Connection['sslMode']
  /** Returns the name of the database to which a reader of these schemas connects. */
  database(key: string, schemas: readonly string[]): string
  /**
   * Returns connection strings for common programs. If the server supports it, programs find the tables without a
   * schema name.
   */
  connectionStrings(
    connection: Connection,
    password: string,
    schemas: readonly string[],
  ): NewWarehouseReader['connectionStrings']
}

interface EndpointSettings {
  WAREHOUSE_DATABASE_URL: string
  WAREHOUSE_PUBLIC_ADDRESS?: { host: string; port: number } | undefined
  WAREHOUSE_PUBLIC_CERTIFICATE?: string | undefined
  WAREHOUSE_HBA_INCLUDE?: string | undefined
  CLICKHOUSE_URL?: string | undefined
  CLICKHOUSE_PUBLIC_URL?: string | undefined
}

/** Returns the kinds of warehouses in this installation that can have readers, each with its server. */
export function readerEndpoints(
  settings: EndpointSettings,
  drivers: readonly WarehouseDriver[] = [],
): ReadonlyMap<WarehouseKind, ReaderEndpoint> {
  const endpoints = new Map<WarehouseKind, ReaderEndpoint>([
    [warehouseTypes.postgres, createPostgresEndpoint(settings)],
  ])
  for (const { kind, readers } of drivers) if (readers) endpoints.set(kind, createClickHouseEndpoint(settings, readers))
  return endpoints
}

/** If no address is configured, programs can connect only if the warehouse is on this host. */
function createPostgresEndpoint(settings: EndpointSettings): ReaderEndpoint {
  const { WAREHOUSE_DATABASE_URL: adminUrl, WAREHOUSE_PUBLIC_CERTIFICATE, WAREHOUSE_HBA_INCLUDE } = settings
  const address = settings.WAREHOUSE_PUBLIC_ADDRESS ?? loopbackAddress(adminUrl, 5432)
  const isLocal = address !== undefined && isLoopback(address.host)
  const sslModeWithoutCertificate = isLocal ? 'prefer' : 'require'
  return {
    server: postgresReaders(adminUrl, { hbaInclude: WAREHOUSE_HBA_INCLUDE }),
    address,
    addressSetting: 'WAREHOUSE_PUBLIC_ADDRESS',
    sslMode: WAREHOUSE_PUBLIC_CERTIFICATE === undefined ? sslModeWithoutCertificate : 'verify-full',
    database: (key) => `c_${key}`,
    connectionStrings: postgresStrings,
  }
}

/**
 * Returns connection strings for PostgreSQL. They set the search path of the session. If it were set for the role
 * instead, every login of the server could read it.
 */
const postgresStrings: ReaderEndpoint['connectionStrings'] = (connection, password, schemas) => {
  const { host, port, database, user, sslMode } = connection
  const address = `${urlHost(host)}:${port}/${database}`
  const searchPath = schemas.map(quoteSchemaName).join(',')
  // libpq separates options at spaces, so escape spaces within names.
  const options = `-csearch_path=${searchPath.replace(/[\\\s]/g, '\\$&')}`
  const isVerified = sslMode === 'verify-full'
  const certificate = isVerified ? '&sslrootcert=warehouse.pem' : ''
  const parameters = `sslmode=${sslMode}${certificate}&options=${encodeURIComponent(options)}`
  const libpqSettings = [...(isVerified ? ['sslrootcert=warehouse.pem'] : []), `options=${quoteSetting(options)}`]
  const pqopt = libpqSettings.join(' ').replaceAll('}', '}}')
  return {
    libpq: `postgresql://${user}:${password}@${address}?${parameters}`,
    jdbc: `jdbc:postgresql://${address}?user=${user}&password=${password}&sslmode=${sslMode}${certificate}&currentSchema=${encodeURIComponent(searchPath)}`,
    odbc: `Driver={PostgreSQL Unicode};Server=${host};Port=${port};Database=${database};Uid=${user};Pwd=${password};SSLmode=${sslMode};pqopt={${pqopt}};`,
    sqlalchemy: `postgresql+psycopg://${user}:${password}@${address}?${parameters}`,
  }
}

/** Quotes the name of a schema if PostgreSQL would otherwise parse it differently. */
const quoteSchemaName = (name: string): string =>
  /^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`

/** Quotes a value for a libpq connection string, which consists of names and values. */
const quoteSetting = (value: string): string => `'${value.replace(/[\\']/g, '\\$&')}'`

function createClickHouseEndpoint(settings: EndpointSettings, server: ReaderServer): ReaderEndpoint {
  const url = settings.CLICKHOUSE_PUBLIC_URL ?? settings.CLICKHOUSE_URL!
  const isSecure = new URL(url).protocol === 'https:'
  const defaultPort = isSecure ? 8443 : 8123
  const address =
    settings.CLICKHOUSE_PUBLIC_URL === undefined ? loopbackAddress(url, defaultPort) : parseAddress(url, defaultPort)
  return {
    server,
    address,
    addressSetting: 'CLICKHOUSE_PUBLIC_URL',
    sslMode: isSecure ? 'require' : 'prefer',
    database: (key, schemas) => `c_${key}_${schemas[0]}`,
    connectionStrings({ host, port, database, user }, password) {
      const encodedName = encodeURIComponent(database)
      const server = `${urlHost(host)}:${port}`
      return {
        jdbc: `jdbc:clickhouse://${server}/${encodedName}?user=${user}&password=${password}&ssl=${isSecure}`,
        odbc: `Driver={ClickHouse ODBC Driver (Unicode)};Url=${isSecure ? 'https' : 'http'}://${server};Database={${database}};Uid=${user};Pwd=${password};`,
        sqlalchemy: `clickhousedb://${user}:${password}@${server}/${encodedName}${isSecure ? '?secure=true' : ''}`,
      }
    },
  }
}

/** Returns the host and the port of a URL. An IPv6 address has no brackets. */
function parseAddress(url: string, defaultPort: number): { host: string; port: number } {
  const { hostname, port } = new URL(url)
  return { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(port || defaultPort) }
}

/**
 * Returns the address of a URL if it is on this machine. Otherwise returns undefined, because programs may not be able
 * to reach the internal address of another host.
 */
function loopbackAddress(url: string, defaultPort: number) {
  const address = parseAddress(url, defaultPort)
  return isLoopback(address.host) ? address : undefined
}

/** Returns a host in the form for URLs, with brackets around an IPv6 address. */
const urlHost = (host: string): string => (host.includes(':') ? `[${host}]` : host)
