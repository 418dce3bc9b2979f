import type { DatabaseProduct } from '../database-connector/database-product.ts'

export const oracle: DatabaseProduct = {
  kind: 'oracle',
  formatConnectionUrl: ({ host, port, database, ssl }) =>
    `jdbc:oracle:thin:@${ssl ? 'tcps:' : ''}//${host}:${port}/${encodeURIComponent(database)}`,
  tablesQuery: `
    select owner as schema_name, table_name as name from all_tables
    where owner not in (select username from all_users where oracle_maintained = 'Y')
    union all
    select owner, view_name from all_views
    where owner not in (select username from all_users where oracle_maintained = 'Y')`,
}
