import { rm } from 'node:fs/promises'
import { sql, type Kysely, type Transaction } from 'kysely'
import type { DB } from '../database.ts'
import { getUploadPath } from '@sluice/connectors/uploaded-file/upload-path'
import type { WarehouseReaders } from '../warehouse-readers/warehouse-readers.ts'
import type { ClientWarehouses } from '../warehouses/client-warehouses.ts'

/** Days between the deletion of an organisation and the erasure of its data by maintenance. */
export const eraseAfterDays = 30

/** Rows per statement. Small batches hold few locks and write little of the write-ahead log at once. */
const rowsPerBatch = 2_000

/** The tables with data of organisations, in an order that the foreign keys allow for deletion. */
const clientTables = [
  'secret_comparisons',
  'workflows',
  'destinations',
  'views',
  'warehouse_readers',
  'resumable_uploads',
  'data_pipelines',
  'data_quality_check_groups',
  'data_quality_checks',
  'schemas',
  'variables',
  'settings',
  'alerts',
  'runs',
  'running_uploads',
  'runnables',
  'warehouse_drops',
  'record_changes',
  'warehouses',
] as const

/** The number of erased rows by table. Omits tables without erased rows. */
export type Erased = Partial<Record<(typeof clientTables)[number], number>>

interface ErasureContext {
  db: Kysely<DB>
  warehouses: ClientWarehouses
  readers: Pick<WarehouseReaders, 'drop'>
  filesDirectory: string
}

/** Lists the uids of organisations with data in this service. Ignores the audit log and public datasets. */
export async function listClientsWithData(db: Kysely<DB>): Promise<string[]> {
  const tables = clientTables.filter((table) => table !== 'record_changes')
  const queries = tables.map((table) => sql`select client from ${sql.table(table)}`)
  const { rows } = await sql<{ client: string }>`${sql.join(queries, sql` union `)} order by client`.execute(db)
  return rows.map(({ client }) => client)
}

/**
 * Erases the large amounts of data, without a transaction: the organisation's warehouses and uploaded files, and the
 * logs, rejected rows and results of its runs. Safe to repeat. Call `eraseClientRows` afterwards, in the transaction
 * that writes the audit row.
 */
export async function eraseBulkData(
  { db, warehouses, readers, filesDirectory }: ErasureContext,
  client: string,
): Promise<void> {
  const logins = db.selectFrom('warehouse_readers').select(['provider_schema', 'login']).where('client', '=', client)
  await readers.drop(await logins.execute())
  await warehouses.erase(client)
  const files = await db
    .selectFrom('uploaded_files as f')
    .innerJoin('data_pipelines as p', 'p.id', 'f.pipeline_id')
    .select('f.uid')
    .where('p.client', '=', client)
    .union(db.selectFrom('resumable_uploads').select('uid').where('client', '=', client))
    .execute()
  for (const { uid } of files) await rm(getUploadPath(filesDirectory, uid), { force: true })
  for (const table of ['run_logs', 'rejected_rows', 'data_quality_results'] as const)
    while ((await eraseDetailBatch(db, table, client)) > 0);
}

/**
 * Erases all rows of the organisation, except the audit log and public datasets. Returns the number of rows by table.
 */
export async function eraseClientRows(trx: Transaction<DB>, client: string): Promise<Erased> {
  const erased: Erased = {}
  for (const table of clientTables) {
    const { numAffectedRows } = await sql`delete from ${sql.table(table)} where client = ${client}`.execute(trx)
    if (numAffectedRows) erased[table] = Number(numAffectedRows)
  }
  return erased
}

/** Deletes up to `rowsPerBatch` rows of the organisation's runs, and returns their number. */
async function eraseDetailBatch(
  db: Kysely<DB>,
  table: 'run_logs' | 'rejected_rows' | 'data_quality_results',
  client: string,
): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from ${sql.table(table)} where id in (
      select d.id from runs r join ${sql.table(table)} d on d.run_id = r.id where r.client = ${client} limit ${rowsPerBatch})`.execute(
    db,
  )
  return Number(numAffectedRows ?? 0)
}
