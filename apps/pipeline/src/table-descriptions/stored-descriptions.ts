import type { TablePlace } from '@sluice/warehouses/warehouse'
import { type Kysely, type Transaction, sql } from 'kysely'
import type { DB } from '../database.ts'

/** The `column_name` under which the description of the table itself is stored. */
export const tableDescriptionKey = ''

/** The descriptions of a table: its own, if there is one, and those of its columns by name. */
export interface TableDescriptions {
  description: string | undefined
  columnDescriptions: ReadonlyMap<string, string>
}

/** Reads the descriptions of these tables. Returns a function that returns the descriptions of one of them. */
export async function readDescriptions(
  db: Kysely<DB>,
  client: string,
  tables: readonly TablePlace[],
): Promise<(table: TablePlace) => TableDescriptions> {
  const { rows } = await sql<{ schema: string; name: string; column: string; text: string }>`
    select requested.schema, requested.name, description.column_name as "column", description.description as text
    from unnest(${tables.map(({ schema }) => schema)}::text[], ${tables.map(({ name }) => name)}::text[])
      as requested (schema, name)
    join schemas on schemas.client = ${client} and schemas.schema_name = requested.schema
    join table_descriptions description
      on description.schema_id = schemas.id and description.table_name = requested.name`.execute(db)
  const keyOf = ({ schema, name }: TablePlace) => JSON.stringify([schema, name])
  const rowsByTable = Map.groupBy(rows, keyOf)
  return (table) => {
    const tableRows = rowsByTable.get(keyOf(table)) ?? []
    // The description of the table itself is stored like that of a column with the name `tableDescriptionKey`.
    const texts = new Map(tableRows.map(({ column, text }) => [column, text]))
    return { description: texts.get(tableDescriptionKey), columnDescriptions: texts }
  }
}

/**
 * Reads the descriptions of a table and locks its schema, so that requests that change descriptions in a schema wait
 * for each other.
 */
export async function lockDescriptions(
  trx: Transaction<DB>,
  schemaId: number,
  name: string,
): Promise<Map<string, string>> {
  await sql`select from schemas where id = ${schemaId} for no key update`.execute(trx)
  const rows = await trx
    .selectFrom('table_descriptions')
    .select(['column_name', 'description'])
    .where('schema_id', '=', schemaId)
    .where('table_name', '=', name)
    .orderBy('column_name')
    .forUpdate()
    .execute()
  return new Map(rows.map(({ column_name, description }) => [column_name, description]))
}

interface DescriptionChange {
  schemaId: number
  name: string
  /**
   * New descriptions by column name, and that of the table under `tableDescriptionKey`. An empty string removes a
   * description.
   */
  texts: ReadonlyMap<string, string>
  /** The uid of the user who changes the descriptions. */
  by: string
}

/**
 * Stores descriptions of a table, and deletes those with an empty text. The caller must hold the lock of
 * `lockDescriptions`.
 */
export async function storeDescriptions(
  trx: Transaction<DB>,
  { schemaId, name, texts, by }: DescriptionChange,
): Promise<void> {
  const sorted = [...texts].toSorted(([one], [other]) => (one < other ? -1 : 1))
  const removedColumns = sorted.filter(([, text]) => text === '').map(([column]) => column)
  const described = sorted.filter(([, text]) => text !== '')
  await sql`
    delete from table_descriptions
    where schema_id = ${schemaId} and table_name = ${name} and column_name = any(${removedColumns}::text[])`.execute(
    trx,
  )
  await sql`
    insert into table_descriptions (schema_id, table_name, column_name, description, updated_by)
    select ${schemaId}::bigint, ${name}::text, c.name, c.text, ${by}::uuid
    from unnest(${described.map(([column]) => column)}::text[], ${described.map(([, text]) => text)}::text[]) as c (name, text)
    on conflict (schema_id, table_name, column_name)
      do update set description = excluded.description, updated_at = now(), updated_by = excluded.updated_by`.execute(
    trx,
  )
}

/** Moves the descriptions of a view to its new name or schema. */
export async function moveDescriptions(trx: Transaction<DB>, from: ViewPlace, to: ViewPlace): Promise<void> {
  if (from.schema_id === to.schema_id && from.view_name === to.view_name) return
  // Delete descriptions of an earlier table that had the new name.
  await sql`
    delete from table_descriptions where schema_id = ${to.schema_id} and table_name = ${to.view_name}`.execute(trx)
  await sql`
    update table_descriptions set schema_id = ${to.schema_id}, table_name = ${to.view_name}
    where schema_id = ${from.schema_id} and table_name = ${from.view_name}`.execute(trx)
}

interface ViewPlace {
  schema_id: number
  view_name: string
}

interface DescribedTable {
  client: string
  schema: string
  table: string
}

/**
 * Deletes the descriptions of a table and of the additional tables of its pipeline, unless another object owns these.
 */
export async function deleteDescriptions(
  trx: Transaction<DB>,
  { client, schema, table }: DescribedTable,
): Promise<void> {
  const isOwnedByPipeline = sql`exists (
    select from data_pipelines pipeline
    where pipeline.schema_id = schema.id and pipeline.table_name = description.table_name)`
  const isOwnedByView = sql`exists (
    select from views where views.schema_id = schema.id and views.view_name = description.table_name)`
  await sql`
    delete from table_descriptions description using schemas schema
    where schema.id = description.schema_id and schema.client = ${client} and schema.schema_name = ${schema} and (
      description.table_name = ${table}
      or (starts_with(description.table_name, ${`${table}__`}) and not ${isOwnedByPipeline} and not ${isOwnedByView}))
  `.execute(trx)
}
