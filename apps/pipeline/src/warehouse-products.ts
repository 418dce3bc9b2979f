import type { providerSchemas } from '@sluice/contracts'

type ProviderKind = (typeof providerSchemas)[number]

/** What an operator sets so that schemas can be there. */
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

/** The warehouses that keep what a load replaces, and can say what a load would change. */
export const undoable: ReadonlySet<ProviderKind> = new Set(['SQL_DATABASE_D', 'WAREHOUSE_B'])

/** Said where a schema is in another one. */
export const cannotUndoIn = (kind: ProviderKind): string =>
  `Dry runs and restoring are for schemas in PostgreSQL and ClickHouse. This one is in ${warehouseNames[kind]}.`

/** For whoever chose one that is not set up. */
export const describedWarehouse = (kind: Exclude<ProviderKind, 'NA'>): string =>
  `${kind} (${warehouseNames[kind]}, ${warehouseSettings[kind]})`
