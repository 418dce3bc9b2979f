import type { Redaction } from '@sluice/process'
import { type WarehouseKind, clickhouseKind, redshiftKind, sqlServerKind, synapseKind } from '../warehouse-kinds.ts'
import type { RedshiftSettings } from '../redshift/redshift-settings.ts'
import type { Warehouse } from '../warehouse.ts'
import { once } from 'node:events'
import { connect } from 'node:net'

/** A client's name in its warehouses, and what the passwords there come from. */
export interface WarehouseCredentials {
  key: string
  loadPassword: string
  readPassword: string
}

/** A kind of warehouse other than PostgreSQL that an operator has configured. */
export interface WarehouseDriver {
  kind: WarehouseKind
  /** Opens the client's part of the server. It adds the client's passwords to `redaction`. */
  open(credentials: WarehouseCredentials, redaction: Redaction): Promise<Warehouse>
  /** Its server, for readiness. */
  part: { name: string; check(): Promise<void> }
}

/** Server addresses with administrator credentials, from the settings of these names; undefined if the server is not configured. */
export interface ServerSettings {
  CLICKHOUSE_URL?: string | undefined
  SQLSERVER_URL?: string | undefined
  SYNAPSE_URL?: string | undefined
  redshift?: RedshiftSettings | undefined
}

/**
 * Most installations configure none of these kinds, so their code is loaded only when a client has schemas there. `keepDays`: the
 * number of days for which replaced tables are kept, if the kind supports it.
 */
export function warehouseDrivers(servers: ServerSettings, { keepDays = 0 } = {}): WarehouseDriver[] {
  const { CLICKHOUSE_URL, SQLSERVER_URL, SYNAPSE_URL, redshift: settings } = servers
  const kinds: WarehouseDriver[] = []
  if (CLICKHOUSE_URL !== undefined)
    kinds.push({
      kind: clickhouseKind,
      open: clickhouse(CLICKHOUSE_URL, keepDays),
      part: clickhousePart(CLICKHOUSE_URL),
    })
  if (SQLSERVER_URL !== undefined)
    kinds.push({
      kind: sqlServerKind,
      open: sqlServer(SQLSERVER_URL),
      part: portCheck('sql-server', SQLSERVER_URL, 1433),
    })
  if (SYNAPSE_URL !== undefined)
    kinds.push({ kind: synapseKind, open: synapse(SYNAPSE_URL), part: portCheck('synapse', SYNAPSE_URL, 1433) })
  if (settings !== undefined)
    kinds.push({ kind: redshiftKind, open: redshift(settings), part: portCheck('redshift', settings.url, 5439) })
  return kinds
}

const clickhouse =
  (url: string, keepDays: number): WarehouseDriver['open'] =>
  async (credentials, redaction) => {
    const [{ clickhouseAccess }, { openClickHouseWarehouse }] = await Promise.all([
      import('../clickhouse/clickhouse-settings.ts'),
      import('../clickhouse/clickhouse-warehouse.ts'),
    ])
    const access = clickhouseAccess(url, credentials)
    redaction.add(...[access.service, access.load, access.read].map(({ password }) => password).filter(Boolean))
    return openClickHouseWarehouse(access, { keepDays })
  }

const clickhousePart = (url: string): WarehouseDriver['part'] => ({
  name: 'clickhouse',
  async check() {
    const { assertAnswers } = await import('../clickhouse/clickhouse-settings.ts')
    await assertAnswers(url)
  },
})

const portCheck = (name: string, url: string, usualPort: number): WarehouseDriver['part'] => ({
  name,
  check: () => assertReachable(url, usualPort),
})

const sqlServer =
  (url: string): WarehouseDriver['open'] =>
  async (credentials, redaction) => {
    const [{ tsqlAccess }, { openSqlServerWarehouse }] = await Promise.all([
      import('../tsql/tsql-settings.ts'),
      import('../tsql/tsql-dialect.ts'),
    ])
    const access = tsqlAccess(url, credentials)
    redaction.add(...Object.values(access.logins).map(({ password }) => password))
    return openSqlServerWarehouse(access)
  }

const synapse =
  (url: string): WarehouseDriver['open'] =>
  async (credentials, redaction) => {
    const [{ synapseAccess }, { openSynapseWarehouse }] = await Promise.all([
      import('../synapse/synapse-settings.ts'),
      import('../synapse/synapse-dialect.ts'),
    ])
    const access = synapseAccess(url, credentials)
    redaction.add(...Object.values(access.logins).map(({ password }) => password))
    return openSynapseWarehouse(access)
  }

const redshift =
  (settings: RedshiftSettings): WarehouseDriver['open'] =>
  async (credentials, redaction) => {
    const [{ redshiftAccess }, { redshiftDialect }, { openSqlWarehouse }] = await Promise.all([
      import('../redshift/redshift-settings.ts'),
      import('../redshift/redshift-dialect.ts'),
      import('../sql-warehouse/sql-warehouse.ts'),
    ])
    const access = redshiftAccess(settings, credentials)
    redaction.add(...Object.values(access.logins).map(({ password }) => password))
    return openSqlWarehouse(redshiftDialect(access))
  }

/**
 * Checks that the warehouse's server accepts a connection; throws the system's error if none is accepted within two seconds. It
 * sends no statement: that would wake a serverless warehouse every few seconds, which costs its owner money.
 */
async function assertReachable(url: string, usualPort: number): Promise<void> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(port || usualPort) })
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(2_000) })
  } finally {
    socket.destroy()
  }
}
