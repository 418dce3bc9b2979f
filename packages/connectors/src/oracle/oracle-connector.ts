import { defaultPorts } from '@sluice/contracts/systems'
import type { DatabaseProduct } from '../database-connector/database-connector.ts'

export const oracle: DatabaseProduct = {
  kind: 'oracle',
  defaultPort: defaultPorts.SQL_DATABASE_C,
  tablesQuery: `
    select owner as schema_name, table_name as name from all_tables
    where owner not in (select username from all_users where oracle_maintained = 'Y')
    union all
    select owner, view_name from all_views
    where owner not in (select username from all_users where oracle_maintained = 'Y')`,
}
