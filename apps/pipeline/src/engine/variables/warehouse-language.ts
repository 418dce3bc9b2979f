import type { providerSchemas } from '@sluice/contracts'
import type { SqlLanguage } from './sql-language.ts'

type Provider = (typeof providerSchemas)[number]

const languages: Readonly<Record<Provider, SqlLanguage>> = {
  SQL_DATABASE_D: 'postgres',
  WAREHOUSE_A: 'redshift',
  WAREHOUSE_B: 'clickhouse',
  WAREHOUSE_C: 'sql-server',
  SQL_DATABASE_A: 'sql-server',
  NA: 'postgres',
}

/** How the warehouse of a schema reads the statements of transformations. */
export const warehouseLanguage = (provider: string): SqlLanguage => languages[provider as Provider] ?? 'postgres'
