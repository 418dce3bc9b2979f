import type { providerSchemas } from '@sluice/contracts'
import { undoUnsupportedIn, undoableWarehouses, warehouseNames, warehouseSettings } from './warehouse-products.ts'
import { WarehouseProblem } from './warehouse.ts'

/** The kind of warehouse that contains a schema, as the API encodes it. */
export type WarehouseKind = (typeof providerSchemas)[number]

export const postgresKind = 'SQL_DATABASE_D' satisfies WarehouseKind
export const clickhouseKind = 'WAREHOUSE_B' satisfies WarehouseKind
export const sqlServerKind = 'SQL_DATABASE_A' satisfies WarehouseKind
export const redshiftKind = 'WAREHOUSE_A' satisfies WarehouseKind
export const synapseKind = 'WAREHOUSE_C' satisfies WarehouseKind

export const nameOf = (kind: WarehouseKind): string => warehouseNames[kind]

/** Returns the problem of a schema whose warehouse is not available here. */
export function notSetUp(schema: string, kind: WarehouseKind): WarehouseProblem {
  if (kind === 'NA')
    return new WarehouseProblem(
      'WAREHOUSE_NOT_SET_UP',
      `The schema "${schema}" has no warehouse (NA): choose one that has, or set its providerSchema.`,
    )
  return new WarehouseProblem(
    'WAREHOUSE_NOT_SET_UP',
    `The schema "${schema}" is in a ${nameOf(kind)} warehouse (${kind}), which is not set up here. An operator has to set ${warehouseSettings[kind]}; or choose another schema.`,
  )
}

/** Throws `WarehouseProblem` NOT_SUPPORTED_HERE for a kind that has neither dry runs nor a previous publication. */
export function assertUndo(kind: WarehouseKind): void {
  if (!undoableWarehouses.has(kind)) throw new WarehouseProblem('NOT_SUPPORTED_HERE', undoUnsupportedIn(kind))
}

/** Returns the problem of a warehouse without dry runs and restore. */
export const cannotUndo = (): WarehouseProblem =>
  new WarehouseProblem('NOT_SUPPORTED_HERE', 'Dry runs and restoring are for schemas in PostgreSQL and ClickHouse.')
