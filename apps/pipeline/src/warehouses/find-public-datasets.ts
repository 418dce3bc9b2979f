import { escapeLike } from '@sluice/records/search/text-patterns'
import { type Kysely, sql } from 'kysely'
import { catalogueClient, catalogueSchema } from './public-dataset-owner.ts'
import type { DB } from '../database.ts'
import type { DatasetDatabase } from '@sluice/connectors/public-dataset/public-dataset-connector'
import type { ClientWarehouses } from './client-warehouses.ts'

/**
 * Returns functions that look up public datasets. Their keys and names are in the service's database; their tables are
 * in the warehouse of the catalogue organisation.
 */
export function openDatasets({ db, warehouses }: { db: Kysely<DB>; warehouses: ClientWarehouses }): DatasetDatabase {
  return {
    async list(text) {
      const like = `%${escapeLike(text)}%`
      const { rows } = await sql<{ key: string; name: string }>`
        select key, name from public_datasets where name ilike ${like} or key ilike ${like}
        order by lower(name), key limit 1000`.execute(db)
      return rows.map(({ key, name }) => ({ id: key, code: key, name }))
    },
    async find(key) {
      const row = await db.selectFrom('public_datasets').select('id').where('key', '=', key).executeTakeFirst()
      if (!row) return undefined
      const warehouse = await warehouses.find(catalogueClient)
      const [table, access] = await Promise.all([
        warehouse?.catalog.findTable(catalogueSchema, key),
        warehouses.readAccess(catalogueClient),
      ])
      if (!table || !access) return {}
      const labels = new Map(table.columns.map(({ name, label }) => [name, label]))
      return { table: { ...access, schema: catalogueSchema, table: key, labels } }
    },
  }
}
