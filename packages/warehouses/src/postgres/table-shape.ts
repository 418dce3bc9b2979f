import type { ClientBase } from 'pg'
import { type LastPublication, selectLastPublication } from './publishing/publication-ledger.ts'
import type { SqlType } from './types.ts'

export interface ShapeColumn {
  name: string
  label: string
  type: SqlType
  /** True if the column belongs to the partition key. PostgreSQL refuses to change the type of such a column. */
  partitionKey: boolean
  primaryKey: boolean
}

/** The structure of a relation, read from the server's catalogue. */
export interface PostgresShape {
  oid: number
  /** The file node of the rows; 0 for a relation without rows of its own. A rewrite of the rows changes it. */
  file: number
  /**
   * True if a load created the table: role `load` owns it, it is partitioned by a list, and it has no partition except
   * a default partition in the hidden schema.
   */
  owned: boolean
  /** The partition in the hidden schema that stores the rows, if it exists. */
  partition?: string
  /** The newest ledger row of the partition. */
  lastPublication?: LastPublication
  /** The planner's estimate of the row count, for relations without a ledger row. */
  estimatedRows: number
  size: number
  /** True if the table or its partition may have triggers. PostgreSQL checks foreign keys by triggers. */
  hasTriggers: boolean
  columns: ShapeColumn[]
}

/**
 * The name prefix of the unique indexes that `addKey` creates on a partition. Adding a primary key instead would need
 * an exclusive lock.
 */
export const keyIndexPrefix = 'sluice_key_'

/** Reads the structure of one table or view. Returns undefined if it does not exist. See `readShapes`. */
export async function readShape(
  client: ClientBase,
  schema: string,
  table: string,
  options: { isPrepared?: boolean } = {},
): Promise<PostgresShape | undefined> {
  return (await readShapes(client, [{ schema, table }], options))[0]
}

/** Reads the structure of a table as role `read`, that is, without the ledger row, which that role may not read. */
export async function readShapeAsReader(
  client: ClientBase,
  schema: string,
  table: string,
): Promise<PostgresShape | undefined> {
  return (await readShapes(client, [{ schema, table }], { hasLedger: false, isPrepared: false }))[0]
}

/**
 * Reads the structures of several tables or views. Returns them in the order of `tables`, with undefined for each that
 * does not exist. Uses one statement, because a load reads the structures several times, even while readers wait for
 * its locks.
 *
 * The statement is prepared, because planning takes longer than reading. Pass `isPrepared` false on a connection on
 * which users' SQL ran, because that SQL can replace or remove prepared statements. Pass `hasLedger` false for a role
 * that may not read the ledger.
 */
export async function readShapes(
  client: ClientBase,
  tables: readonly { schema: string; table: string }[],
  { hasLedger = true, isPrepared = true } = {},
): Promise<(PostgresShape | undefined)[]> {
  const { rows } = await client.query({
    ...(isPrepared && { name: 'sluice_shapes' }),
    text: `select place.position, c.oid::int8, coalesce(pg_relation_filenode(c.oid), 0)::int8 as file, greatest(c.reltuples, 0)::float8 as estimated_rows, part.relname as partition,
       c.relhastriggers or coalesce(part.relhastriggers, false) as has_triggers,
       c.relkind = 'p' and pg_has_role(c.relowner, 'usage') and k.partstrat = 'l'
         and not exists (select from pg_inherits i where i.inhparent = c.oid and i.inhrelid is distinct from part.oid) as owned,
       coalesce((select sum(pg_total_relation_size(relid)) from pg_partition_tree(c.oid)), pg_total_relation_size(c.oid))::float8 as size,
       -- An object for each column would take three times as long.
       (
         select json_build_object(
           'names', array_agg(a.attname order by a.attnum),
           'types', array_agg(format_type(a.atttypid, a.atttypmod) order by a.attnum)
         )
         from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
       ) as columns,
       (
         select json_object_agg(a.attname, d.description)
         from pg_description d join pg_attribute a on a.attrelid = d.objoid and a.attnum = d.objsubid
         where d.objoid = c.oid and d.classoid = 'pg_class'::regclass and d.objsubid > 0
       ) as labels,
       array(
         select a.attname::text from pg_attribute a where a.attrelid = c.oid and a.attnum = any(k.partattrs)
       ) as partition_key,
       key.names as primary_key,
       ${hasLedger ? `(select to_json(entry) from (${selectLastPublication('part.relname')}) entry)` : 'null'} as last_publication
     from unnest($1::text[], $2::text[]) with ordinality as place (schema, name, position)
     join pg_namespace n on n.nspname = place.schema
     join pg_class c on c.relnamespace = n.oid and c.relname = place.name
     left join pg_partitioned_table k on k.partrelid = c.oid
     left join pg_class part on part.oid = nullif(k.partdefid, 0) and part.relnamespace = to_regnamespace('sluice')
     -- The key is on the partition, where the rows are.
     left join lateral (
       select array_agg(distinct b.attname::text) as names
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
    file: Number(relation['file']),
    owned: relation['owned'] === true,
    ...(relation['partition'] !== null && { partition: relation['partition'] }),
    ...(relation['last_publication'] !== null && { lastPublication: relation['last_publication'] }),
    estimatedRows: Math.round(relation['estimated_rows']),
    size: relation['size'],
    hasTriggers: relation['has_triggers'],
    columns: toColumns(relation),
  }
}

// biome-ignore lint/suspicious/noExplicitAny: a row of the query
function toColumns(relation: Record<string, any>): ShapeColumn[] {
  const labels = new Map<string, string>(Object.entries(relation['labels'] ?? {}))
  const partitionKey = new Set<string>(relation['partition_key'])
  const primaryKey = new Set<string>(relation['primary_key'])
  const { names, types }: { names: string[] | null; types: SqlType[] } = relation['columns']
  return (names ?? []).map((name, index) => ({
    name,
    label: labels.get(name) ?? name,
    type: types[index]!,
    partitionKey: partitionKey.has(name),
    primaryKey: primaryKey.has(name),
  }))
}
