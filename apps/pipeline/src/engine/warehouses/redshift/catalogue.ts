import type { Catalogue, Relation } from '../dialects/dialect.ts'
import { listed, piece, sql } from '../dialects/sql.ts'
import type { ClientAccess } from './access.ts'
import { ledgerSchema, stringLiteral } from './names.ts'

/** A client's schemas are those that its users were let into. */
export function catalogueOf({ logins }: ClientAccess): Catalogue {
  const own = piece(
    `n.nspname not like 'pg!_%' escape '!' and n.nspname not in ('information_schema', ${stringLiteral(ledgerSchema)})
       and has_schema_privilege(${stringLiteral(logins.load.user)}, n.nspname, 'usage')`,
  )
  return {
    async schemas(session) {
      const rows = await session.rows<{ name: string }>(
        sql`select n.nspname::varchar as name from pg_catalog.pg_namespace n where ${own}`,
      )
      return rows.map(({ name }) => name)
    },
    async relations(session, schemas) {
      if (schemas?.length === 0) return []
      const among = schemas ? piece(` and n.nspname in (${listed(schemas.map(stringLiteral)).text})`) : piece('')
      const rows = await session.rows<{ schema: string; name: string; id: string; kind: string }>(
        sql`select n.nspname::varchar as schema, c.relname::varchar as name, c.oid::bigint as id, c.relkind as kind
          from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
          where c.relkind in ('r', 'v') and ${own}${among}`,
      )
      return rows.map(({ kind, ...place }): Relation => ({ ...place, kind: kind === 'v' ? 'VIEW' : 'TABLE' }))
    },
    columns: (session, { id }) =>
      session.rows(
        sql`select a.attname::varchar as name, format_type(a.atttypid, a.atttypmod)::varchar as type, not a.attnotnull as nullable
          from pg_catalog.pg_attribute a
          where a.attrelid = ${piece(String(Number(id)))} and a.attnum > 0 and not a.attisdropped order by a.attnum`,
      ),
    async readers(session, { id }) {
      const rows = await session.rows<{ id: string; schema: string; name: string }>(
        sql`select distinct c.oid::bigint as id, n.nspname::varchar as schema, c.relname::varchar as name
          from pg_catalog.pg_depend d join pg_catalog.pg_rewrite r on r.oid = d.objid
          join pg_catalog.pg_class c on c.oid = r.ev_class join pg_catalog.pg_namespace n on n.oid = c.relnamespace
          where d.refobjid = ${piece(String(Number(id)))} and c.oid <> d.refobjid and c.relkind = 'v'`,
      )
      return rows.map((row) => ({ ...row, kind: 'VIEW' }))
    },
    async bytes(session, { id }) {
      const [row] = await session.rows<{ size: string | null }>(
        sql`select size::varchar as size from svv_table_info where table_id = ${piece(String(Number(id)))}`,
      )
      // Counted there in blocks of 1 MB.
      return Number(row?.size ?? 0) * 1024 * 1024
    },
  }
}
