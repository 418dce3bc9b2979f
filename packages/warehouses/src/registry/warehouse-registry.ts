import { warehouseTypes } from '@sluice/contracts/connector-types'
import type { Redaction } from '@sluice/process'
import type { WarehouseKind } from '../warehouse-kinds.ts'
import type { RedshiftSettings } from '../redshift/redshift-settings.ts'
import type { ReaderServer } from '../warehouse-reader-logins.ts'
import type { Warehouse, WarehouseCredentials } from '../warehouse.ts'
import { once } from 'node:events'
import { connect } from 'node:net'

/** Opens warehouses on a server that an operator has configured, of another kind than PostgreSQL. */
export interface WarehouseDriver {
  kind: WarehouseKind
  /**
   * Opens the organisation's warehouse on the server, and adds its passwords to `redaction`, so that logs do not
   * contain them.
   */
  open(credentials: WarehouseCredentials, redaction: Redaction): Promise<Warehouse>
  /** The server in health checks. `check` throws if the server does not answer. */
  part: { name: string; check(): Promise<void> }
  /** Manages the server's readers (logins for BI tools). Absent for servers that cannot have readers. */
  readers?: ReaderServer
}

/**
 * Server addresses with administrator credentials. The keys are the names of environment variables; undefined means
 * that the server is not configured.
 */
export interface ServerSettings {
  CLICKHOUSE_URL?: string | undefined
  SQLSERVER_URL?: string | undefined
  SYNAPSE_URL?: string | undefined
  redshift?: RedshiftSettings | undefined
}

/**
 * Returns the drivers of the configured servers. Their code is loaded only when an organisation has schemas there,
 * because most installations configure none of these servers. `keepDays` is the number of days for which replaced
 * tables are kept, if the server supports it.
 */
export function warehouseDrivers(servers: ServerSettings, { keepDays = 0 } = {}): WarehouseDriver[] {
  const { CLICKHOUSE_URL, SQLSERVER_URL, SYNAPSE_URL, redshift } = servers
  const drivers: WarehouseDriver[] = []
  if (CLICKHOUSE_URL !== undefined) drivers.push(clickHouseDriver(CLICKHOUSE_URL, keepDays))
  if (SQLSERVER_URL !== undefined) drivers.push(sqlServerDriver(SQLSERVER_URL))
  if (SYNAPSE_URL !== undefined) drivers.push(synapseDriver(SYNAPSE_URL))
  if (redshift !== undefined) drivers.push(redshiftDriver(redshift))
  return drivers
}

const clickHouseDriver = (url: string, keepDays: number): WarehouseDriver => ({
  kind: warehouseTypes.clickhouse,
  async open(credentials, redaction) {
    const { clickhouseAccess } = await import('../clickhouse/clickhouse-settings.ts')
    const { openClickHouseWarehouse } = await import('../clickhouse/clickhouse-warehouse.ts')
    const access = clickhouseAccess(url, credentials)
    redaction.add(...[access.service, access.load, access.read].map(({ password }) => password).filter(Boolean))
    return openClickHouseWarehouse(access, { keepDays })
  },
  readers: {
    define: async (...parameters) => (await loadClickHouseReaders(url)).define(...parameters),
    drop: async (login) => (await loadClickHouseReaders(url)).drop(login),
    observe: async () => (await loadClickHouseReaders(url)).observe(),
  },
  part: {
    name: 'clickhouse',
    async check() {
      const { assertAnswers } = await import('../clickhouse/clickhouse-settings.ts')
      await assertAnswers(url)
    },
  },
})

const loadClickHouseReaders = async (url: string): Promise<ReaderServer> =>
  (await import('../clickhouse/clickhouse-readers.ts')).clickHouseReaders(url)

const sqlServerDriver = (url: string): WarehouseDriver => ({
  kind: warehouseTypes.sqlServer,
  async open(credentials, redaction) {
    const { tsqlAccess } = await import('../tsql/tsql-settings.ts')
    const { openSqlServerWarehouse } = await import('../tsql/tsql-dialect.ts')
    const access = tsqlAccess(url, credentials)
    redactPasswords(access.logins, redaction)
    return openSqlServerWarehouse(access)
  },
  part: portCheck('sql-server', url, 1433),
})

const synapseDriver = (url: string): WarehouseDriver => ({
  kind: warehouseTypes.synapse,
  async open(credentials, redaction) {
    const { synapseAccess } = await import('../synapse/synapse-settings.ts')
    const { openSynapseWarehouse } = await import('../synapse/synapse-dialect.ts')
    const access = synapseAccess(url, credentials)
    redactPasswords(access.logins, redaction)
    return openSynapseWarehouse(access)
  },
  part: portCheck('synapse', url, 1433),
})

const redshiftDriver = (settings: RedshiftSettings): WarehouseDriver => ({
  kind: warehouseTypes.redshift,
  async open(credentials, redaction) {
    const { redshiftAccess } = await import('../redshift/redshift-settings.ts')
    const { redshiftDialect } = await import('../redshift/redshift-dialect.ts')
    const { openSqlWarehouse } = await import('../sql-warehouse/sql-warehouse.ts')
    const access = redshiftAccess(settings, credentials)
    redactPasswords(access.logins, redaction)
    return openSqlWarehouse(redshiftDialect(access))
  },
  part: portCheck('redshift', settings.url, 5439),
})

const redactPasswords = (logins: Readonly<Record<string, { password: string }>>, redaction: Redaction): void =>
  redaction.add(...Object.values(logins).map(({ password }) => password))

function portCheck(name: string, url: string, defaultPort: number): WarehouseDriver['part'] {
  return { name, check: () => assertReachable(url, defaultPort) }
}

/**
 * Opens a connection to the warehouse's server and closes it. Throws the system's error if the server accepts none
 * within two seconds. Sends no statement, because it would wake a serverless warehouse every few seconds and cost its
 * owner money.
 */
async function assertReachable(url: string, defaultPort: number): Promise<void> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(port || defaultPort) })
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(2_000) })
  } finally {
    socket.destroy()
  }
}
