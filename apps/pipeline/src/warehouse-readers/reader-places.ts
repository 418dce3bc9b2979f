import { warehouseTypes } from '@sluice/contracts/connector-types'
import type { NewWarehouseReader, WarehouseReader } from '@sluice/contracts'
import { isLoopback } from '@sluice/process'
import type { ReaderServer } from '@sluice/warehouses/reader-server'
import { postgresReaders } from '@sluice/warehouses/postgres/server/reader-roles'
import type { WarehouseDriver } from '@sluice/warehouses/registry/warehouse-registry'
import type { WarehouseKind } from '@sluice/warehouses/warehouse-kinds'

type Connection = Required<WarehouseReader['connection']>

/** The server of one kind of warehouse, as readers see it. */
export interface ReaderPlace {
  server: ReaderServer
  /** The address for readers; absent if the operator has to configure it, with the setting in `addressSetting`. */
  address: { host: string; port: number } | undefined
  addressSetting: string
  sslMode: Connection['sslMode']
  /** Returns the database that a reader of these schemas connects to. */
  database(key: string, schemas: readonly string[]): string
  /** Returns strings with which programs find the tables of the schemas without the name of a schema, if the server can do that. */
  connectionStrings(
    connection: Connection,
    password: string,
    schemas: readonly string[],
  ): NewWarehouseReader['connectionStrings']
}

interface PlaceSettings {
  WAREHOUSE_DATABASE_URL: string
  WAREHOUSE_PUBLIC_ADDRESS?: { host: string; port: number } | undefined
  WAREHOUSE_PUBLIC_CERTIFICATE?: string | undefined
  WAREHOUSE_HBA_INCLUDE?: string | undefined
  CLICKHOUSE_URL?: string | undefined
  CLICKHOUSE_PUBLIC_URL?: string | undefined
}

/** Returns the warehouses of this installation that can have readers, by kind. */
export function readerPlaces(
  settings: PlaceSettings,
  drivers: readonly WarehouseDriver[] = [],
): ReadonlyMap<WarehouseKind, ReaderPlace> {
  const places = new Map<WarehouseKind, ReaderPlace>([[warehouseTypes.postgres, postgresPlace(settings)]])
  for (const { kind, readers } of drivers) if (readers) places.set(kind, clickHousePlace(settings, readers))
  return places
}

function postgresPlace(settings: PlaceSettings): ReaderPlace {
  const { WAREHOUSE_DATABASE_URL: adminUrl, WAREHOUSE_PUBLIC_CERTIFICATE, WAREHOUSE_HBA_INCLUDE } = settings
  const local = loopbackAddress(adminUrl, 5432)
  const address = settings.WAREHOUSE_PUBLIC_ADDRESS ?? local
  const isLocal = address !== undefined && isLoopback(address.host)
  return {
    server: postgresReaders(adminUrl, { hbaInclude: WAREHOUSE_HBA_INCLUDE }),
    address,
    addressSetting: 'WAREHOUSE_PUBLIC_ADDRESS',
    sslMode: WAREHOUSE_PUBLIC_CERTIFICATE !== undefined ? 'verify-full' : isLocal ? 'prefer' : 'require',
    database: (key) => `c_${key}`,
    connectionStrings: postgresStrings,
  }
}

/** The strings set the search path, because every login of the server can read the settings of a role. */
const postgresStrings: ReaderPlace['connectionStrings'] = (connection, password, schemas) => {
  const { host, port, database, user, sslMode } = connection
  const place = `${urlHost(host)}:${port}/${database}`
  const path = schemas.map(quoteSchemaName).join(',')
  // libpq separates options at spaces.
  const options = `-csearch_path=${path.replace(/[\\\s]/g, '\\$&')}`
  const isVerified = sslMode === 'verify-full'
  const certificate = isVerified ? '&sslrootcert=warehouse.pem' : ''
  const tail = `sslmode=${sslMode}${certificate}&options=${encodeURIComponent(options)}`
  const libpqSettings = [...(isVerified ? ['sslrootcert=warehouse.pem'] : []), `options=${quoteSetting(options)}`]
  const pqopt = libpqSettings.join(' ').replaceAll('}', '}}')
  return {
    libpq: `postgresql://${user}:${password}@${place}?${tail}`,
    jdbc: `jdbc:postgresql://${place}?user=${user}&password=${password}&sslmode=${sslMode}${certificate}&currentSchema=${encodeURIComponent(path)}`,
    odbc: `Driver={PostgreSQL Unicode};Server=${host};Port=${port};Database=${database};Uid=${user};Pwd=${password};SSLmode=${sslMode};pqopt={${pqopt}};`,
    sqlalchemy: `postgresql+psycopg://${user}:${password}@${place}?${tail}`,
  }
}

/** Quotes a schema's name where PostgreSQL would read it differently otherwise. */
const quoteSchemaName = (name: string): string =>
  /^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`

/** Quotes a value in a connection string of libpq that consists of names and values. */
const quoteSetting = (value: string): string => `'${value.replace(/[\\']/g, '\\$&')}'`

function clickHousePlace(settings: PlaceSettings, server: ReaderServer): ReaderPlace {
  const url = settings.CLICKHOUSE_PUBLIC_URL ?? settings.CLICKHOUSE_URL!
  const secure = new URL(url).protocol === 'https:'
  const defaultPort = secure ? 8443 : 8123
  const address =
    settings.CLICKHOUSE_PUBLIC_URL === undefined ? loopbackAddress(url, defaultPort) : addressOf(url, defaultPort)
  return {
    server,
    address,
    addressSetting: 'CLICKHOUSE_PUBLIC_URL',
    sslMode: secure ? 'require' : 'prefer',
    database: (key, schemas) => `c_${key}_${schemas[0]}`,
    connectionStrings({ host, port, database, user }, password) {
      const name = encodeURIComponent(database)
      const place = `${urlHost(host)}:${port}`
      return {
        jdbc: `jdbc:clickhouse://${place}/${name}?user=${user}&password=${password}&ssl=${secure}`,
        odbc: `Driver={ClickHouse ODBC Driver (Unicode)};Url=${secure ? 'https' : 'http'}://${place};Database={${database}};Uid=${user};Pwd=${password};`,
        sqlalchemy: `clickhousedb://${user}:${password}@${place}/${name}${secure ? '?secure=true' : ''}`,
      }
    },
  }
}

function addressOf(url: string, defaultPort: number): { host: string; port: number } {
  const { hostname, port } = new URL(url)
  return { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(port || defaultPort) }
}

function loopbackAddress(url: string, defaultPort: number) {
  const address = addressOf(url, defaultPort)
  return isLoopback(address.host) ? address : undefined
}

const urlHost = (host: string): string => (host.includes(':') ? `[${host}]` : host)
