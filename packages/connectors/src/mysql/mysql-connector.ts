import { defaultPorts } from '@sluice/contracts/systems'
import type { DatabaseProduct } from '../database-connector/database-connector.ts'

export const mysql: DatabaseProduct = {
  kind: 'mysql',
  defaultPort: defaultPorts.SQL_DATABASE_B,
  tablesQuery: `
    select cast(table_schema as char) as \`schema\`, cast(table_name as char) as name
    from information_schema.tables
    where table_schema not in ('information_schema', 'mysql', 'performance_schema', 'sys')`,
}
