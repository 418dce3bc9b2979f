import type { ClientBase } from 'pg'
import type { SqlType } from './types.ts'

export interface ShapeColumn {
  name: string
  label: string
  type: SqlType
  /** Part of the partition key, so PostgreSQL refuses to change its type. */
  partitionKey: boolean
  primaryKey: boolean
}

/** A relation as the catalogue has it now. */
export interface Shape {
  oid: number
  /** Partitioned by us: a list with at most a default partition, and that in the hidden schema. */
  ours: boolean
  /** The rows' table in the hidden schema, where there is one. */
  partition?: string
  /** The planner's guess, for relations that no ledger counts. */
  estimatedRows: number
  size: number
  columns: ShapeColumn[]
}

export async function readShape(client: ClientBase, schema: string, table: string): Promise<Shape | undefined> {
  const { rows } = await client.query(
    `select c.oid::int8, greatest(c.reltuples, 0)::float8 as estimated_rows, part.relname as partition,
       c.relkind = 'p' and pg_has_role(c.relowner, 'usage') and k.partstrat = 'l'
         and not exists (select from pg_inherits i where i.inhparent = c.oid and i.inhrelid is distinct from part.oid) as ours,
       coalesce((select sum(pg_total_relation_size(relid)) from pg_partition_tree(c.oid)), pg_total_relation_size(c.oid))::float8 as size
     from pg_class c
     join pg_namespace n on n.oid = c.relnamespace
     left join pg_partitioned_table k on k.partrelid = c.oid
     left join pg_class part on part.oid = nullif(k.partdefid, 0) and part.relnamespace = to_regnamespace('sluice')
     where n.nspname = $1 and c.relname = $2 and c.relkind in ('r', 'p', 'v', 'm')`,
    [schema, table],
  )
  const [relation] = rows
  if (!relation) return undefined
  return {
    oid: Number(relation.oid),
    ours: relation.ours === true,
    ...(relation.partition !== null && { partition: relation.partition }),
    estimatedRows: Math.round(relation.estimated_rows),
    size: relation.size,
    columns: await readColumns(client, relation.oid),
  }
}

/** The primary key sits on the partition, where the rows are. */
async function readColumns(client: ClientBase, oid: string): Promise<ShapeColumn[]> {
  const { rows } = await client.query<ShapeColumn>(
    `select a.attname as name, coalesce(col_description(a.attrelid, a.attnum), a.attname) as label,
       format_type(a.atttypid, a.atttypmod) as type, coalesce(a.attnum = any(k.partattrs), false) as "partitionKey",
       exists (
         select from pg_index x join pg_attribute b on b.attrelid = x.indrelid and b.attnum = any(x.indkey)
         where x.indisprimary and b.attname = a.attname and x.indrelid in (a.attrelid, k.partdefid)
       ) as "primaryKey"
     from pg_attribute a left join pg_partitioned_table k on k.partrelid = a.attrelid
     where a.attrelid = $1::oid and a.attnum > 0 and not a.attisdropped
     order by a.attnum`,
    [oid],
  )
  return rows
}
