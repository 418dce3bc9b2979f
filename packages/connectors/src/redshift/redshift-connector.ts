import { defaultPorts } from '@sluice/contracts/systems'
import type { DatabaseProduct } from '../database-connector/database-connector.ts'

export const redshift: DatabaseProduct = {
  kind: 'redshift',
  defaultPort: defaultPorts.WAREHOUSE_A,
  // This view has everything that the user may see, including tables of data lakes.
  tablesQuery: `
    select table_schema::varchar as schema, table_name::varchar as name
    from svv_tables where table_schema not like 'pg!_%' escape '!' and table_schema <> 'information_schema'`,
}
