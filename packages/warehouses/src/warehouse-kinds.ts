import { warehouseTypes } from '@sluice/contracts/connector-types'
import { WarehouseProblem } from './warehouse.ts'

/** The kind of warehouse that stores a schema, as encoded in the API. */
export type WarehouseKind = (typeof warehouseTypes)[keyof typeof warehouseTypes]

interface WarehouseProduct {
  name: string
  /** The name of the environment variable that enables the warehouse. */
  setting: string
  /** Set if the warehouse supports dry runs and undoing the last load. */
  canUndo?: true
}

const warehouseProducts: Record<Exclude<WarehouseKind, typeof warehouseTypes.none>, WarehouseProduct> = {
  [warehouseTypes.postgres]: { name: 'PostgreSQL', setting: 'WAREHOUSE_DATABASE_URL', canUndo: true },
  [warehouseTypes.clickhouse]: { name: 'ClickHouse', setting: 'CLICKHOUSE_URL', canUndo: true },
  [warehouseTypes.sqlServer]: { name: 'SQL Server', setting: 'SQLSERVER_URL' },
  [warehouseTypes.redshift]: { name: 'Redshift', setting: 'REDSHIFT_URL' },
  [warehouseTypes.synapse]: { name: 'Synapse', setting: 'SYNAPSE_URL' },
}

export const warehouseName = (kind: WarehouseKind): string => (kind === 'NA' ? 'none' : warehouseProducts[kind].name)

export const describeWarehouse = (kind: Exclude<WarehouseKind, typeof warehouseTypes.none>): string =>
  `${kind} (${warehouseProducts[kind].name}, ${warehouseProducts[kind].setting})`

/** Returns the problem for a schema on a warehouse that is not available. */
export function notSetUp(schema: string, kind: WarehouseKind): WarehouseProblem {
  const sentence =
    kind === 'NA'
      ? `The schema "${schema}" has no warehouse: its providerSchema is NA. Choose another schema, or set its providerSchema.`
      : `The schema "${schema}" is in a ${warehouseProducts[kind].name} warehouse (${kind}), which is not configured on this installation. Ask an operator to set ${warehouseProducts[kind].setting}, or choose another schema.`
  return new WarehouseProblem('WAREHOUSE_NOT_SET_UP', sentence)
}

const undoUnsupported = 'Dry runs and restores are only available for schemas in PostgreSQL and ClickHouse.'

/**
 * Returns the reason why the warehouse supports neither dry runs nor undoing the last load, or undefined if it supports
 * both.
 */
export function undoRefusal(kind: WarehouseKind): string | undefined {
  const canUndo = kind !== 'NA' && warehouseProducts[kind].canUndo
  return canUndo ? undefined : `${undoUnsupported} This one is in ${warehouseName(kind)}.`
}

/** Throws `WarehouseProblem` NOT_SUPPORTED_HERE unless the warehouse supports dry runs and undoing the last load. */
export function assertUndo(kind: WarehouseKind): void {
  const refusal = undoRefusal(kind)
  if (refusal !== undefined) throw new WarehouseProblem('NOT_SUPPORTED_HERE', refusal)
}

/** Returns the problem for a warehouse without dry runs and undo. */
export const cannotUndo = (): WarehouseProblem => new WarehouseProblem('NOT_SUPPORTED_HERE', undoUnsupported)
