import type { SourceBody } from '@sluice/contracts'
import { defaultPorts } from '@sluice/contracts/systems'
import type { ConnectableAddress, DatabaseConfig, DatabaseKind } from '../database-connector/database-config.ts'
import { databaseSource, tryDatabase } from '../databases/database-source.ts'
import { previewFeed } from '@sluice/file-formats/preview/preview-feed'
import type { SourceOption, ReadRequest, Connector } from '../connector.ts'
import type { RowStream } from '@sluice/row-stream'

/** Maximum number of tables that are searched. The response is one page of them. */
const mostTables = 50_000

type DatabaseType = keyof typeof defaultPorts

const systems: Readonly<Record<DatabaseType, DatabaseKind>> = {
  SQL_DATABASE_A: 'sql-server',
  SQL_DATABASE_B: 'mysql',
  SQL_DATABASE_C: 'oracle',
  SQL_DATABASE_D: 'postgres',
  WAREHOUSE_A: 'redshift',
}

/**
 * Sources that read a query or a table of a database. `connectable` resolves the host of the settings and checks that
 * users may reach it.
 */
export function databaseQueries(connectable: ConnectableAddress): Record<DatabaseType, Connector> {
  const source = databaseSource(connectable)
  const kind: Connector = {
    read(reading, report, signal) {
      const config = configOf(reading)
      const feeds = source.read(config, report, signal)
      return config.tables?.length === 1 ? intoTarget(feeds) : feeds
    },
    listOptions: async (what, reading, signal) => (what === 'tables' ? tablesOf(reading, signal) : undefined),
    testConnection: (reading, signal) => tryDatabase(configOf(reading), connectable, signal),
  }
  async function tablesOf(reading: ReadRequest, signal: AbortSignal): Promise<SourceOption[]> {
    const { tables: _, ...server } = configOf(reading)
    const config = { ...server, query: tableQueries[server.kind] }
    const { rows } = await previewFeed((report, ends) => source.read(config, report, ends), mostTables, signal)
    // Both columns are names, and names are text in every database.
    return (rows as [string, string][])
      .map(([schema, name]) => ({ id: `${schema}.${name}`, code: schema, name }))
      .toSorted((one, other) => (one.id < other.id ? -1 : 1))
  }

  return { SQL_DATABASE_A: kind, SQL_DATABASE_B: kind, SQL_DATABASE_C: kind, SQL_DATABASE_D: kind, WAREHOUSE_A: kind }
}

function configOf({ type, settings, secrets }: ReadRequest): DatabaseConfig {
  const { jdbcSource, sqlQuery, tables } = settings as Extract<SourceBody, { type: DatabaseType }>
  const { hostname, port, database, username, ssl, trustServerCertificate } = jdbcSource
  return {
    kind: systems[type as DatabaseType],
    host: hostname,
    port: port ?? defaultPorts[type as DatabaseType],
    database,
    username,
    password: secrets['password'] ?? '',
    ssl: ssl ?? false,
    trustServerCertificate: trustServerCertificate ?? false,
    ...(sqlQuery !== undefined && { query: sqlQuery }),
    ...(tables && { tables }),
  }
}

/** Gives the one table of a pipeline the name of the pipeline's own table, whatever its name in the source. */
async function* intoTarget(feeds: AsyncIterable<RowStream>): AsyncGenerator<RowStream, void, void> {
  for await (const feed of feeds) yield { ...feed, table: '' }
}

const { raw } = String

/**
 * Queries that list schema and name of the tables and views that the login may read, without system tables. They have no
 * ORDER BY, because not every database can describe a query with one.
 */
const tableQueries: Readonly<Record<DatabaseKind, string>> = {
  postgres: raw`
    select n.nspname::text as schema, c.relname::text as name
    from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'p', 'v', 'm', 'f') and not c.relispartition
      and n.nspname not like 'pg\_%' and n.nspname <> 'information_schema'
      and pg_catalog.has_schema_privilege(n.oid, 'usage') and pg_catalog.has_table_privilege(c.oid, 'select')`,
  // This view has everything that the user may see, including tables of data lakes.
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
