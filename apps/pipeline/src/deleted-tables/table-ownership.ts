import { type Kysely, sql } from 'kysely'
import type { DB } from '../database.ts'
import type { Warehouse } from '@sluice/warehouses/warehouse'

export interface TableName {
  client: string
  schema: string
  table: string
}

/**
 * Returns whether a table belongs to another owner than the pipeline with the main table `mainTable`. That is so if a
 * view or another pipeline has the name of the table, or if a pipeline has a longer main table of which this is an
 * additional table. For example, `a__b__c` belongs to the pipeline with the main table `a__b`, and not to the one with
 * `a`.
 */
export async function isTableOfAnother(
  db: Kysely<DB>,
  { client, schema, table }: TableName,
  mainTable: string,
): Promise<boolean> {
  const { rows } = await sql<{ isOwnedByAnother: boolean }>`
    select exists (
        select from data_pipelines p where p.schema_id = s.id and p.table_name <> ${mainTable} and (
          p.table_name = ${table}
          or starts_with(${table}, p.table_name || '__') and length(p.table_name) > length(${mainTable})))
      or exists (select from views v where v.schema_id = s.id and v.view_name = ${table}) as "isOwnedByAnother"
    from schemas s where s.client = ${client} and s.schema_name = ${schema}`.execute(db)
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
