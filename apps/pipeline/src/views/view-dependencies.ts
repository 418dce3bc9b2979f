import { sql, type Kysely } from 'kysely'
import type { DB } from '../database.ts'
import type { TablePlace } from '@sluice/warehouses/warehouse'

/** Stores the tables and views that a view reads, as reported by the warehouse. */
export async function storeViewSources(db: Kysely<DB>, view: number, reads: readonly TablePlace[]): Promise<void> {
  await db.deleteFrom('view_sources').where('view_id', '=', view).execute()
  if (reads.length === 0) return
  await db
    .insertInto('view_sources')
    .values(reads.map(({ schema, name }) => ({ view_id: view, schema_name: schema, relation_name: name })))
    .execute()
}

/** Returns whether the stored tables and views of a view are equal to `reads`. */
export async function hasStoredSources(db: Kysely<DB>, view: number, reads: readonly TablePlace[]): Promise<boolean> {
  const sources = await db
    .selectFrom('view_sources')
    .select(['schema_name', 'relation_name'])
    .where('view_id', '=', view)
    .execute()
  const storedSources = new Set(
    sources.map(({ schema_name, relation_name }) => JSON.stringify([schema_name, relation_name])),
  )
  if (storedSources.size !== reads.length) return false
  return reads.every(({ schema, name }) => storedSources.has(JSON.stringify([schema, name])))
}

/**
 * Updates the stored dependencies of other views after a view was renamed. The warehouse itself updates the queries of
 * these views.
 */
export async function renameSource(db: Kysely<DB>, client: string, from: TablePlace, to: TablePlace): Promise<void> {
  if (from.schema === to.schema && from.name === to.name) return
  await sql`
    update view_sources s set schema_name = ${to.schema}, relation_name = ${to.name}
    from views v
    where v.id = s.view_id and v.client = ${client} and s.schema_name = ${from.schema} and s.relation_name = ${from.name}
  `.execute(db)
}
