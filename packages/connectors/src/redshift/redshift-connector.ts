import { type DatabaseProduct, getSslMode } from '../database-connector/database-product.ts'

export const redshift: DatabaseProduct = {
  kind: 'redshift',
  formatConnectionUrl: (server) => {
    const { host, port, database } = server
    return `jdbc:redshift://${host}:${port}/${encodeURIComponent(database)}?sslmode=${getSslMode(server)}`
  },
  // This view lists all tables that the login may read, including external tables of data lakes.
  tablesQuery: `
    select table_schema::varchar as schema, table_name::varchar as name
    from svv_tables where table_schema not like 'pg!_%' escape '!' and table_schema <> 'information_schema'`,
}
