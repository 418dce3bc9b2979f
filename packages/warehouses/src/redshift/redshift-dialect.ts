import type { DialectCatalog, SqlDialect, CatalogRelation } from '../sql-warehouse/sql-dialect.ts'
import type { ClientAccess } from './redshift-settings.ts'
import { redshiftStatements } from './redshift-statements.ts'
import { createConnectionPool } from './connections.ts'
import { ledgerSchema, redshiftNames, stringLiteral } from './sql-identifiers.ts'
import { copyRows, sweepStagingBucket } from './redshift-loader.ts'
import { explainRedshiftError, explainQuery } from './map-server-errors.ts'
import { provisionRedshift } from './provision-warehouse.ts'
import { openSession } from './session.ts'
import { redshiftTypes } from './column-types.ts'
import { sqlList, sqlFragment, sql } from '../sql-warehouse/sql-statement.ts'

/** Returns the SQL dialect for one organisation's database on a Redshift cluster. */
export function redshiftDialect(access: ClientAccess): SqlDialect {
  const connections = createConnectionPool(access)
  return {
    names: redshiftNames,
    types: redshiftTypes,
    catalogue: catalogueOf(access),
    changes: redshiftStatements(access),
    publication: 'TRANSACTION',
    bareNames: 'PATH',
    open: (options) => openSession(connections, options),
    provision: () => provisionRedshift(access),
    copyRows: (filling, content, signal) => copyRows(access, connections, filling, content, signal),
    sweep: (listLiveRuns) => sweepStagingBucket(access, listLiveRuns),
    explain: explainRedshiftError,
    explainQuery,
    page(place, columns, { limit, offset, order }) {
      const list = (names: readonly string[]) => names.map(redshiftNames.quoted).join(', ')
      const orderClause = order.length > 0 ? ` order by ${list(order)}` : ''
      return `select ${list(columns)} from ${redshiftNames.place(place)}${orderClause} limit ${limit} offset ${offset}`
    },
  }
}

/**
 * Returns the catalogue queries. An organisation's schemas are those that its users may use. In the queries, `n` is a
 * row of `pg_namespace`, which is a schema.
 */
function catalogueOf({ logins }: ClientAccess): DialectCatalog {
  /** The condition that the schema `n` belongs to the organisation. */
  const isOwnSchema = sqlFragment(
    `n.nspname not like 'pg!_%' escape '!' and n.nspname not in ('information_schema', ${stringLiteral(ledgerSchema)})
       and has_schema_privilege(${stringLiteral(logins.load.user)}, n.nspname, 'usage')`,
  )
  /** Returns the further condition that the schema `n` is one of these. */
  const andIsOneOf = (schemas: readonly string[]) =>
    sqlFragment(` and n.nspname in (${sqlList(schemas.map(stringLiteral)).text})`)
  return {
    async schemas(session) {
      const rows = await session.rows<{ name: string }>(
        sql`select n.nspname::varchar as name from pg_catalog.pg_namespace n where ${isOwnSchema}`,
      )
      return rows.map(({ name }) => name)
    },
    async relations(session, schemas) {
      if (schemas?.length === 0) return []
      const schemaCondition = schemas ? andIsOneOf(schemas) : sqlFragment('')
      const rows = await session.rows<{ schema: string; name: string; id: string; kind: string }>(
        sql`select n.nspname::varchar as schema, c.relname::varchar as name, c.oid::bigint as id, c.relkind as kind
          from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
          where c.relkind in ('r', 'v') and ${isOwnSchema}${schemaCondition}`,
      )
      return rows.map(({ kind, ...place }): CatalogRelation => ({ ...place, kind: kind === 'v' ? 'VIEW' : 'TABLE' }))
    },
    columns: (session, { id }) =>
      session.rows(
        sql`select a.attname::varchar as name, format_type(a.atttypid, a.atttypmod)::varchar as type, not a.attnotnull as nullable
          from pg_catalog.pg_attribute a
          where a.attrelid = ${sqlFragment(String(Number(id)))} and a.attnum > 0 and not a.attisdropped order by a.attnum`,
      ),
    async columnNames(session, schemas, prefix) {
      if (schemas.length === 0) return []
      const hasPrefix = sqlFragment(
        `left(lower(a.attname::varchar), ${[...prefix].length}) = ${stringLiteral(prefix.toLowerCase())}`,
      )
      return session.rows(
        sql`select n.nspname::varchar as schema, c.relname::varchar as table, a.attname::varchar as column,
            format_type(a.atttypid, a.atttypmod)::varchar as type
          from pg_catalog.pg_attribute a join pg_catalog.pg_class c on c.oid = a.attrelid
          join pg_catalog.pg_namespace n on n.oid = c.relnamespace
          where c.relkind in ('r', 'v') and a.attnum > 0 and not a.attisdropped and ${isOwnSchema}${andIsOneOf(schemas)} and ${hasPrefix}`,
      )
    },
    async readers(session, { id }) {
      const rows = await session.rows<{ id: string; schema: string; name: string }>(
        sql`select distinct c.oid::bigint as id, n.nspname::varchar as schema, c.relname::varchar as name
          from pg_catalog.pg_depend d join pg_catalog.pg_rewrite r on r.oid = d.objid
          join pg_catalog.pg_class c on c.oid = r.ev_class join pg_catalog.pg_namespace n on n.oid = c.relnamespace
          where d.refobjid = ${sqlFragment(String(Number(id)))} and c.oid <> d.refobjid and c.relkind = 'v'`,
      )
      return rows.map((row) => ({ ...row, kind: 'VIEW' }))
    },
    async bytes(session, { id }) {
      const [row] = await session.rows<{ size: string | null }>(
        sql`select size::varchar as size from svv_table_info where table_id = ${sqlFragment(String(Number(id)))}`,
      )
      // The server reports the size in blocks of 1 MB.
      return Number(row?.size ?? 0) * 1024 * 1024
    },
  }
}
