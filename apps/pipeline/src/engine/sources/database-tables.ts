import type { DatabaseKind } from './databases/database-config.ts'

const { raw } = String

/**
 * What lists the tables and views that the login may read, without those of the system itself: schema and name. No order:
 * not every database lets a query be looked at that has one.
 */
export const tableQueries: Readonly<Record<DatabaseKind, string>> = {
  postgres: raw`
    select n.nspname::text as schema, c.relname::text as name
    from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'p', 'v', 'm', 'f') and not c.relispartition
      and n.nspname not like 'pg\_%' and n.nspname <> 'information_schema'
      and pg_catalog.has_schema_privilege(n.oid, 'usage') and pg_catalog.has_table_privilege(c.oid, 'select')`,
  // The view has what the user may see, tables of lakes included.
  redshift: `
    select table_schema::varchar as schema, table_name::varchar as name
    from svv_tables where table_schema not like 'pg!_%' escape '!' and table_schema <> 'information_schema'`,
  mysql: `
    select cast(table_schema as char) as \`schema\`, cast(table_name as char) as name
    from information_schema.tables
    where table_schema not in ('information_schema', 'mysql', 'performance_schema', 'sys')`,
  'sql-server': `
    select s.name as [schema], o.name as name
    from sys.objects o join sys.schemas s on s.schema_id = o.schema_id
    where o.type in ('U', 'V') and o.is_ms_shipped = 0 and has_perms_by_name(quotename(s.name) + '.' + quotename(o.name), 'OBJECT', 'SELECT') = 1`,
  oracle: `
    select owner as schema_name, table_name as name from all_tables
    where owner not in (select username from all_users where oracle_maintained = 'Y')
    union all
    select owner, view_name from all_views
    where owner not in (select username from all_users where oracle_maintained = 'Y')`,
}
