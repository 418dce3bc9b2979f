import { type Transaction, sql } from 'kysely'
import type { DB } from '../database.ts'
import type { StoredReader } from './warehouse-readers.ts'

/**
 * Takes a schema from all readers, in the transaction that deletes it. Returns the readers that lost their last schema, which are
 * deleted; the others are pending until the warehouse has the change.
 */
export async function detachReaders(trx: Transaction<DB>, schema: { id: number; client: string }) {
  const affected = await trx
    .selectFrom('warehouse_readers')
    .selectAll()
    .where('client', '=', schema.client)
    .where(sql<boolean>`schema_ids @> ${JSON.stringify([schema.id])}::jsonb`)
    .orderBy('id')
    .forUpdate()
    .$castTo<StoredReader>()
    .execute()
  const [ended, kept]: [StoredReader[], StoredReader[]] = [[], []]
  for (const reader of affected) {
    const schema_ids = reader.schema_ids.filter((id) => id !== schema.id)
    if (schema_ids.length === 0) {
      await trx.deleteFrom('warehouse_readers').where('id', '=', reader.id).execute()
      ended.push(reader)
      continue
    }
    const change = { schema_ids: JSON.stringify(schema_ids), pending: true, version: sql<number>`version + 1` }
    await trx.updateTable('warehouse_readers').set(change).where('id', '=', reader.id).execute()
    kept.push(reader)
  }
  return { ended, kept }
}
