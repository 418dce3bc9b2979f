import type { ClientBase } from 'pg'
import { type LastPublication, selectLastPublication } from './publishing/publication-ledger.ts'
import type { SqlType } from './column-types.ts'

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
  const lastPublicationAsJson = `(select to_json(entry) from (${selectLastPublication('row_partition.relname')}) entry)`
  const { rows } = await client.query<ShapeRow>({
    ...(isPrepared && { name: 'sluice_shapes' }),
    text: `select place.position, relation.oid::int8,
       coalesce(pg_relation_filenode(relation.oid), 0)::int8 as file,
       greatest(relation.reltuples, 0)::float8 as estimated_rows,
       row_partition.relname as partition,
       relation.relhastriggers or coalesce(row_partition.relhastriggers, false) as has_triggers,
       -- See PostgresShape.owned: partitioned by a list, with no partition except the one with the rows.
       relation.relkind = 'p' and pg_has_role(relation.relowner, 'usage') and partitioning.partstrat = 'l'
         and not exists (
           select from pg_inherits
           where inhparent = relation.oid and inhrelid is distinct from row_partition.oid) as owned,
       coalesce(
         (select sum(pg_total_relation_size(relid)) from pg_partition_tree(relation.oid)),
         pg_total_relation_size(relation.oid))::float8 as size,
       (${selectColumns('relation.oid')}) as columns,
       (${selectLabels('relation.oid')}) as labels,
       array(
         select attname::text from pg_attribute
         where attrelid = relation.oid and attnum = any(partitioning.partattrs)) as partition_key,
       (${selectKeyColumns('relation.oid, partitioning.partdefid')}) as primary_key,
       ${hasLedger ? lastPublicationAsJson : 'null'} as last_publication
     from unnest($1::text[], $2::text[]) with ordinality as place (schema, name, position)
     join pg_namespace as schema on schema.nspname = place.schema
     join pg_class as relation on relation.relnamespace = schema.oid and relation.relname = place.name
     left join pg_partitioned_table as partitioning on partitioning.partrelid = relation.oid
     -- The default partition in the hidden schema has the rows.
     left join pg_class as row_partition
       on row_partition.oid = nullif(partitioning.partdefid, 0)
       and row_partition.relnamespace = to_regnamespace('sluice')
     where relation.relkind in ('r', 'p', 'v', 'm')`,
    values: [tables.map(({ schema }) => schema), tables.map(({ table }) => table)],
  })
  const shapes = new Map(rows.map((row) => [Number(row.position), toShape(row)]))
  return tables.map((_, index) => shapes.get(index + 1))
}

/**
 * Selects the names and the types of a relation's columns as one JSON object with two arrays. An object for each column
 * would take three times as long. `oid` is an SQL expression for the relation's OID.
 */
function selectColumns(oid: string): string {
  return `select json_build_object(
      'names', array_agg(attname order by attnum),
      'types', array_agg(format_type(atttypid, atttypmod) order by attnum)
    )
    from pg_attribute where attrelid = ${oid} and attnum > 0 and not attisdropped`
}

/** Selects the labels of a relation's columns, which are the comments of the columns, as a JSON object. */
function selectLabels(oid: string): string {
  return `select json_object_agg(attname, description)
    from pg_description join pg_attribute on attrelid = objoid and attnum = objsubid
    where objoid = ${oid} and classoid = 'pg_class'::regclass and objsubid > 0`
}

/**
 * Selects the key columns of a table as one array: those of its primary key, or of the unique index that `addKey`
 * creates. `oids` lists the OIDs of the table and of its partition, because the key is on the partition, where the rows
 * are.
 */
function selectKeyColumns(oids: string): string {
  return `select array_agg(distinct key_column.attname::text)
    from pg_index as key join pg_class as index_relation on index_relation.oid = key.indexrelid
    join pg_attribute as key_column
      on key_column.attrelid = key.indrelid and key_column.attnum = any(key.indkey)
    where key.indrelid in (${oids}) and (key.indisprimary
      or (key.indisunique and key.indisvalid and starts_with(index_relation.relname, '${keyIndexPrefix}')))`
}

/** A row of the query in `readShapes`. node-postgres returns bigint values as strings. */
interface ShapeRow {
  position: string
  oid: string
  file: string
  estimated_rows: number
  partition: string | null
  has_triggers: boolean
  /** Null for a relation that is not partitioned. */
  owned: boolean | null
  size: number
  /** `names` is null for a relation without columns. */
  columns: { names: string[] | null; types: SqlType[] }
  labels: Record<string, string> | null
  partition_key: string[]
  primary_key: string[] | null
  last_publication: LastPublication | null
}

/** Converts a row of the statement in `readShapes`. */
function toShape(row: ShapeRow): PostgresShape {
  return {
    oid: Number(row.oid),
    file: Number(row.file),
    owned: row.owned === true,
    ...(row.partition !== null && { partition: row.partition }),
    ...(row.last_publication !== null && { lastPublication: row.last_publication }),
    estimatedRows: Math.round(row.estimated_rows),
    size: row.size,
    hasTriggers: row.has_triggers,
    columns: toColumns(row),
  }
}

/** Returns the columns of a shape. `labels` has only those labels that differ from the column's name. */
function toColumns(row: ShapeRow): ShapeColumn[] {
  const labels = new Map(Object.entries(row.labels ?? {}))
  const partitionKey = new Set(row.partition_key)
  const primaryKey = new Set(row.primary_key)
  const { names, types } = row.columns
  return (names ?? []).map((name, index) => ({
    name,
    label: labels.get(name) ?? name,
    type: types[index]!,
    partitionKey: partitionKey.has(name),
    primaryKey: primaryKey.has(name),
  }))
}
