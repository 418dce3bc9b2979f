import { type Kysely, sql } from 'kysely'
import type { DB } from '../database.ts'
import type { Warehouse } from '@sluice/warehouses/warehouse'

export interface TableName {
  client: string
  schema: string
  table: string
}

/**
 * Returns whether another object than the pipeline with the table `mainTable` owns a table. A view or a pipeline owns
 * the table with its name. A pipeline also owns additional tables: their names start with the name of its table and
 * `__`. If this applies to several pipelines, the one with the longest name owns the table. For example, `a__b__c`
 * belongs to the pipeline with the table `a__b`, and not to the one with `a`.
 */
export async function isOwnedByAnother(
  db: Kysely<DB>,
  { client, schema, table }: TableName,
  mainTable: string,
): Promise<boolean> {
  const { rows } = await sql<{ isOwnedByAnother: boolean }>`
    select
      exists (
        select from data_pipelines pipeline
        where pipeline.schema_id = schema.id and pipeline.table_name <> ${mainTable}
          and (pipeline.table_name = ${table} or (
            starts_with(${table}, pipeline.table_name || '__') and length(pipeline.table_name) > length(${mainTable}))))
      or exists (
        select from views where views.schema_id = schema.id and views.view_name = ${table}) as "isOwnedByAnother"
    from schemas schema where schema.client = ${client} and schema.schema_name = ${schema}`.execute(db)
  return rows[0]?.isOwnedByAnother ?? false
}

/**
 * Lists the additional tables of a pipeline, such as those of repeated question groups. The cursor of the pipeline's
 * table stores their names, which start with the name of that table and `__`.
 */
export const listFurtherTables = async (warehouse: Warehouse, schema: string, table: string): Promise<string[]> =>
  furtherTablesOf((await warehouse.loader.findLastLoad(schema, table)).cursor, table)

/** Returns the names of the further tables in the cursor of a pipeline's table. */
export function furtherTablesOf(cursor: unknown, table: string): string[] {
  const { tables } = (cursor ?? {}) as { tables?: unknown }
  const names: unknown[] = Array.isArray(tables) ? tables : []
  return names.filter((name): name is string => typeof name === 'string' && name.startsWith(`${table}__`))
}
