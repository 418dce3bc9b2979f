import { type Kysely, sql } from 'kysely'
import type { DB } from '../database.ts'
import type { Warehouse } from '@sluice/warehouses/warehouse'

/**
 * Returns whether an additional table belongs to a pipeline other than the one with the table `ownTable`. If several
 * pipelines match, the one with the longest table name owns it: `a__b__c` belongs to `a__b`, not to `a`.
 */
export async function isFilledByAnother(
  db: Kysely<DB>,
  { client, schema, table }: TableName,
  ownTable: string,
): Promise<boolean> {
  const otherPipeline = await db
    .selectFrom('data_pipelines as o')
    .innerJoin('schemas as s', 's.id', 'o.schema_id')
    .select('o.id')
    .where('s.client', '=', client)
    .where('s.schema_name', '=', schema)
    .where(sql<boolean>`starts_with(${table}, o.table_name || '__') and length(o.table_name) > length(${ownTable})`)
    .limit(1)
    .executeTakeFirst()
  return otherPipeline !== undefined
}

export interface TableName {
  client: string
  schema: string
  table: string
}

/** Returns whether a view, or a pipeline other than `pipeline`, uses the name of a table. */
export async function isTableTaken(
  db: Kysely<DB>,
  { client, schema, table }: TableName,
  pipeline = 0,
): Promise<boolean> {
  const pipelines = db
    .selectFrom('data_pipelines as o')
    .innerJoin('schemas as s', 's.id', 'o.schema_id')
    .select('o.id')
    .where('s.client', '=', client)
    .where('s.schema_name', '=', schema)
    .where('o.table_name', '=', table)
    .where('o.id', '!=', pipeline)
  const views = db
    .selectFrom('views as o')
    .innerJoin('schemas as s', 's.id', 'o.schema_id')
    .select('o.id')
    .where('s.client', '=', client)
    .where('s.schema_name', '=', schema)
    .where('o.view_name', '=', table)
  return (await pipelines.unionAll(views).limit(1).executeTakeFirst()) !== undefined
}

/**
 * Lists the additional tables of a pipeline, such as those of repeated question groups. The cursor of the pipeline's
 * table stores their names, which start with the name of that table and `__`.
 */
export async function listFurtherTables(warehouse: Warehouse, schema: string, table: string): Promise<string[]> {
  const cursor = (await warehouse.loader.findCursor(schema, table)) as { tables?: unknown } | null | undefined
  const names: unknown[] = Array.isArray(cursor?.tables) ? cursor.tables : []
  return names.filter((name): name is string => typeof name === 'string' && name.startsWith(`${table}__`))
}
