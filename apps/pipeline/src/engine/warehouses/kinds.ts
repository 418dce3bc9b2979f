import type { providerSchemas } from '@sluice/contracts'
import { WarehouseProblem } from './warehouse.ts'

/** Which warehouse a schema is in, as the wire has it. */
export type Kind = (typeof providerSchemas)[number]

export const postgresKind = 'SQL_DATABASE_D' satisfies Kind
export const clickhouseKind = 'WAREHOUSE_B' satisfies Kind
export const sqlServerKind = 'SQL_DATABASE_A' satisfies Kind
export const redshiftKind = 'WAREHOUSE_A' satisfies Kind
export const synapseKind = 'WAREHOUSE_C' satisfies Kind

/** What an operator sets so that schemas can be there. */
const settings: Record<Exclude<Kind, 'NA'>, string> = {
  [postgresKind]: 'WAREHOUSE_DATABASE_URL',
  [clickhouseKind]: 'CLICKHOUSE_URL',
  [sqlServerKind]: 'SQLSERVER_URL',
  [redshiftKind]: 'REDSHIFT_URL',
  [synapseKind]: 'SYNAPSE_URL',
}

const names: Record<Kind, string> = {
  SQL_DATABASE_D: 'PostgreSQL',
  WAREHOUSE_A: 'Redshift',
  WAREHOUSE_B: 'ClickHouse',
  WAREHOUSE_C: 'Synapse',
  SQL_DATABASE_A: 'SQL Server',
  NA: 'none',
}

export const nameOf = (kind: Kind): string => names[kind]

/** Of whoever names a kind that is not set up: what it is, and what an operator sets. */
export const describedKind = (kind: Exclude<Kind, 'NA'>): string => `${kind} (${names[kind]}, ${settings[kind]})`

/** Said of a schema whose warehouse cannot be used here. */
export function notSetUp(schema: string, kind: Kind): WarehouseProblem {
  if (kind === 'NA')
    return new WarehouseProblem(
      'WAREHOUSE_NOT_SET_UP',
      `The schema "${schema}" has no warehouse (NA): choose one that has, or set its providerSchema.`,
    )
  return new WarehouseProblem(
    'WAREHOUSE_NOT_SET_UP',
    `The schema "${schema}" is in a ${nameOf(kind)} warehouse (${kind}), which is not set up here. An operator has to set ${settings[kind]}; or choose another schema.`,
  )
}
