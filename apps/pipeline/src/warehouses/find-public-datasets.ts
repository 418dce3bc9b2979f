import type { Kysely } from 'kysely'
import { catalogueClient, catalogueSchema } from './public-dataset-owner.ts'
import type { DB } from '../database.ts'
import type { DatasetDatabase } from '@sluice/connectors/public-dataset/public-dataset-connector'
import type { ClientWarehouses } from './client-warehouses.ts'

/** Returns a database that finds public datasets: their keys in the service's database, and their tables in the catalogue's warehouse. */
export function openDatasets({ db, warehouses }: { db: Kysely<DB>; warehouses: ClientWarehouses }): DatasetDatabase {
  return {
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
