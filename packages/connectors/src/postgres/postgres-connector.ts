import { type DatabaseProduct, getSslMode } from '../database-connector/database-product.ts'

export const postgres: DatabaseProduct = {
  kind: 'postgres',
  formatConnectionUrl: (server) => {
    const { host, port, database } = server
    return `jdbc:postgresql://${host}:${port}/${encodeURIComponent(database)}?sslmode=${getSslMode(server)}`
  },
  tablesQuery: String.raw`
    select n.nspname::text as schema, c.relname::text as name
    from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'p', 'v', 'm', 'f') and not c.relispartition
      and n.nspname not like 'pg\_%' and n.nspname <> 'information_schema'
      and pg_catalog.has_schema_privilege(n.oid, 'usage') and pg_catalog.has_table_privilege(c.oid, 'select')`,
}
