import type { ClientBase } from 'pg'
import { type LastEntry, selectLastEntry } from './publication/ledger.ts'
import type { SqlType } from './types.ts'

export interface ShapeColumn {
  name: string
  label: string
  type: SqlType
  /** Part of the partition key, so PostgreSQL refuses to change its type. */
  partitionKey: boolean
  primaryKey: boolean
}

/** The structure of a relation, read from the server's catalogue. */
export interface PostgresShape {
  oid: number
  /**
   * True if Sluice created the table: it is partitioned by list, with at most a default partition, which is in the
   * hidden schema.
   */
  owned: boolean
  /** The partition in the hidden schema that stores the rows, if it exists. */
  partition?: string
  /** The newest ledger row of the partition. */
  last?: LastEntry
  /** The planner's estimate of the row count, for relations without a ledger row. */
  estimatedRows: number
  size: number
  columns: ShapeColumn[]
}

/**
 * The name prefix of the unique indexes that `addKey` creates on a partition. Adding a primary key instead would need
 * an exclusive lock.
 */
export const keyIndexPrefix = 'sluice_key_'

export async function readShape(
  client: ClientBase,
  schema: string,
  table: string,
  options: { isPrepared?: boolean } = {},
): Promise<PostgresShape | undefined> {
  return (await readShapes(client, [{ schema, table }], options))[0]
}

/** Reads the structure of a table without its ledger row, which role `read` must not read. */
export async function readShapeAsReader(
  client: ClientBase,
  schema: string,
  table: string,
): Promise<PostgresShape | undefined> {
  return (await readShapes(client, [{ schema, table }], { hasLedger: false, isPrepared: false }))[0]
}

/**
 * Reads the structures of several tables in one statement, because a load reads them several times, even while readers
 * wait for its locks. Returns them in the order of the names.
 *
 * Uses a prepared statement, because planning takes longer than reading. Pass `isPrepared` false on a connection on
 * which users' SQL ran, because that SQL can replace or remove prepared statements.
 */
export async function readShapes(
  client: ClientBase,
  tables: readonly { schema: string; table: string }[],
  { hasLedger = true, isPrepared = true } = {},
): Promise<(PostgresShape | undefined)[]> {
  const { rows } = await client.query({
    ...(isPrepared && { name: 'sluice_shapes' }),
    text: `select place.position, c.oid::int8, greatest(c.reltuples, 0)::float8 as estimated_rows, part.relname as partition,
       c.relkind = 'p' and pg_has_role(c.relowner, 'usage') and k.partstrat = 'l'
         and not exists (select from pg_inherits i where i.inhparent = c.oid and i.inhrelid is distinct from part.oid) as owned,
       coalesce((select sum(pg_total_relation_size(relid)) from pg_partition_tree(c.oid)), pg_total_relation_size(c.oid))::float8 as size,
       (
         select json_agg(
           json_build_object(
             'name', a.attname,
             'label', coalesce(d.description, a.attname),
             'type', format_type(a.atttypid, a.atttypmod),
             'partitionKey', coalesce(a.attnum = any(k.partattrs), false),
             'primaryKey', coalesce(a.attname = any(key.names), false)
           ) order by a.attnum
         )
         from pg_attribute a
         left join pg_description d
           on d.objoid = a.attrelid and d.classoid = 'pg_class'::regclass and d.objsubid = a.attnum
         where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
       ) as columns,
       ${hasLedger ? `(select to_json(entry) from (${selectLastEntry('part.relname')}) entry)` : 'null'} as last
     from unnest($1::text[], $2::text[]) with ordinality as place (schema, name, position)
     join pg_namespace n on n.nspname = place.schema
     join pg_class c on c.relnamespace = n.oid and c.relname = place.name
     left join pg_partitioned_table k on k.partrelid = c.oid
     left join pg_class part on part.oid = nullif(k.partdefid, 0) and part.relnamespace = to_regnamespace('sluice')
     -- The key is on the partition, where the rows are.
     left join lateral (
       select array_agg(distinct b.attname) as names
       from pg_index x join pg_class i on i.oid = x.indexrelid
       join pg_attribute b on b.attrelid = x.indrelid and b.attnum = any(x.indkey)
       where (x.indisprimary or (x.indisunique and x.indisvalid and starts_with(i.relname, '${keyIndexPrefix}')))
         and x.indrelid in (c.oid, k.partdefid)
     ) key on true
     where c.relkind in ('r', 'p', 'v', 'm')`,
    values: [tables.map(({ schema }) => schema), tables.map(({ table }) => table)],
  })
  const shapes = new Map(rows.map((row) => [Number(row.position), toShape(row)]))
  return tables.map((_, index) => shapes.get(index + 1))
}

// biome-ignore lint/suspicious/noExplicitAny: a row of the query
function toShape(relation: Record<string, any>): PostgresShape {
  return {
    oid: Number(relation['oid']),
    owned: relation['owned'] === true,
    ...(relation['partition'] !== null && { partition: relation['partition'] }),
    ...(relation['last'] !== null && { last: relation['last'] }),
    estimatedRows: Math.round(relation['estimated_rows']),
    size: relation['size'],
    columns: relation['columns'] ?? [],
  }
}
