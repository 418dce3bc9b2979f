import type { providerSchemas } from '@sluice/contracts'

type ProviderKind = (typeof providerSchemas)[number]

/** The setting that enables each warehouse. */
export const warehouseSettings: Record<Exclude<ProviderKind, 'NA'>, string> = {
  SQL_DATABASE_D: 'WAREHOUSE_DATABASE_URL',
  WAREHOUSE_B: 'CLICKHOUSE_URL',
  SQL_DATABASE_A: 'SQLSERVER_URL',
  WAREHOUSE_A: 'REDSHIFT_URL',
  WAREHOUSE_C: 'SYNAPSE_URL',
}

export const warehouseNames: Record<ProviderKind, string> = {
  SQL_DATABASE_D: 'PostgreSQL',
  WAREHOUSE_A: 'Redshift',
  WAREHOUSE_B: 'ClickHouse',
  WAREHOUSE_C: 'Synapse',
  SQL_DATABASE_A: 'SQL Server',
  NA: 'none',
}

/** The warehouses that support dry runs and restoring the previous load. */
export const undoableWarehouses: ReadonlySet<ProviderKind> = new Set(['SQL_DATABASE_D', 'WAREHOUSE_B'])

export const undoUnsupportedIn = (kind: ProviderKind): string =>
  `Dry runs and restoring are for schemas in PostgreSQL and ClickHouse. This one is in ${warehouseNames[kind]}.`

export const describeWarehouse = (kind: Exclude<ProviderKind, 'NA'>): string =>
  `${kind} (${warehouseNames[kind]}, ${warehouseSettings[kind]})`
