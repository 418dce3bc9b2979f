import type { Kysely } from 'kysely'
import type { DB } from '../../database.ts'

export interface TableName {
  client: string
  schema: string
  table: string
}

/** Whether a pipeline, or a view, is called like a table: other than the pipeline with this key. */
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
