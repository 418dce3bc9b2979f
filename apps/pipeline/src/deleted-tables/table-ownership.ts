import { type Kysely, sql } from 'kysely'
import type { DB } from '../database.ts'
import type { Warehouse } from '@sluice/warehouses/warehouse'

/**
 * Whether a further table of the pipeline with table `ownTable` belongs to another pipeline with a longer table name. For example,
 * `a__b__c` belongs to the pipeline with table `a__b`, and not to the one with table `a`.
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

/** Whether a pipeline other than `pipeline`, or a view, uses the name of a table. */
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
 * Lists the further tables of a pipeline, such as those of repeat groups. The cursor stores their names, which start
 * with the name of the pipeline's table and `__`.
 */
export const listFurtherTables = async (warehouse: Warehouse, schema: string, table: string): Promise<string[]> =>
  furtherTablesOf(await warehouse.loader.findCursor(schema, table), table)

/** Returns the names of the further tables in the cursor of a pipeline's table. */
export function furtherTablesOf(cursor: unknown, table: string): string[] {
  const { tables } = (cursor ?? {}) as { tables?: unknown }
  const names: unknown[] = Array.isArray(tables) ? tables : []
  return names.filter((name): name is string => typeof name === 'string' && name.startsWith(`${table}__`))
}
