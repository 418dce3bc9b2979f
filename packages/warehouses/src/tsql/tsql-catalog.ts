import type { DialectCatalog, CatalogColumn, CatalogRelation } from '../sql-warehouse/sql-dialect.ts'
import { sqlList, sqlFragment, sql } from '../sql-warehouse/sql-statement.ts'
import { type DatabaseHome, formatLiteral } from './sql-identifiers.ts'
import { type CatalogueType, typeText } from './column-types.ts'

/** Schemas that exist in every database. */
const serverSchemas = ['sys', 'dbo', 'guest', 'INFORMATION_SCHEMA']

/**
 * Returns the catalogue queries for this organisation's schemas. In the queries, `s` is a row of `sys.schemas`, which
 * is a schema.
 */
export function catalogueOf({ prefix, ledger }: DatabaseHome): DialectCatalog {
  const otherSchemas = sqlList([...serverSchemas, ledger].map(formatLiteral))
  /** The condition that the schema `s` belongs to the organisation. */
  const isOwnSchema = sqlFragment(
    prefix === ''
      ? `s.name not in (${otherSchemas.text}) and s.name not like 'db[_]%'`
      : `left(s.name, ${prefix.length}) = ${formatLiteral(prefix)}`,
  )
  const removePrefix = (schema: string) => schema.slice(prefix.length)
  /** Returns the further condition that the schema `s` is one of these. */
  const andIsOneOf = (schemas: readonly string[]) =>
    sqlFragment(` and s.name in (${schemas.map((schema) => formatLiteral(prefix + schema)).join(', ')})`)
  return {
    async schemas(session) {
      const rows = await session.rows<{ name: string }>(
        sql`select s.name as name from sys.schemas s where ${isOwnSchema}`,
      )
      return rows.map(({ name }) => removePrefix(name))
    },
    async relations(session, schemas) {
      if (schemas?.length === 0) return []
      const schemaCondition = schemas ? andIsOneOf(schemas) : sqlFragment('')
      const rows = await session.rows<{ schema: string; name: string; id: number; type: string }>(
        sql`select s.name as [schema], o.name as name, o.object_id as id, o.type as type
          from sys.objects o join sys.schemas s on s.schema_id = o.schema_id
          where o.type in ('U', 'V') and ${isOwnSchema}${schemaCondition}`,
      )
      return rows.map(
        ({ schema, name, id, type }): CatalogRelation => ({
          schema: removePrefix(schema),
          name,
          id: String(id),
          kind: type.trim() === 'V' ? 'VIEW' : 'TABLE',
        }),
      )
    },
    async columns(session, { id }) {
      const rows = await session.rows<CatalogueType & { name: string; nullable: boolean | number }>(
        sql`select c.name as name, t.name as type, c.max_length as max_length, c.precision as precision, c.scale as scale,
            c.is_nullable as nullable
          from sys.columns c join sys.types t on t.user_type_id = c.user_type_id
          where c.object_id = ${Number(id)} order by c.column_id`,
      )
      return rows.map(
        (column): CatalogColumn => ({
          name: column.name,
          type: typeText(column),
          nullable: Boolean(column.nullable),
        }),
      )
    },
    async columnNames(session, schemas, namePrefix) {
      if (schemas.length === 0) return []
      const rows = await session.rows<CatalogueType & { schema: string; relation: string; column: string }>(
        sql`select s.name as [schema], o.name as relation, c.name as [column], t.name as type, c.max_length as max_length,
            c.precision as precision, c.scale as scale
          from sys.columns c join sys.types t on t.user_type_id = c.user_type_id
          join sys.objects o on o.object_id = c.object_id join sys.schemas s on s.schema_id = o.schema_id
          where o.type in ('U', 'V') and ${isOwnSchema}${andIsOneOf(schemas)}
            and left(lower(c.name), ${namePrefix.length}) = ${namePrefix.toLowerCase()}`,
      )
      return rows.map(({ schema, relation, column, ...type }) => ({
        schema: removePrefix(schema),
        table: relation,
        column,
        type: typeText(type),
      }))
    },
    async bytes(session, { id }) {
      const [row] = await session.rows<{ bytes: number | string | null }>(
        sql`select 8192 * sum(a.used_pages) as bytes
          from sys.partitions p join sys.allocation_units a on a.container_id in (p.partition_id, p.hobt_id)
          where p.object_id = ${Number(id)}`,
      )
      return Number(row?.bytes ?? 0)
    },
  }
}
