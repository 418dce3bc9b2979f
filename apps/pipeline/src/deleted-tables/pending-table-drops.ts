import { sql, type Kysely, type Selectable, type Transaction } from 'kysely'
import type { DB, WarehouseDrops } from '../database.ts'
import type { ClientWarehouses } from '../warehouses/client-warehouses.ts'
import { type Warehouse, WarehouseProblem } from '@sluice/warehouses/warehouse'
import { deleteDescriptions } from '../table-descriptions/stored-descriptions.ts'
import { deleteProfiles } from '../table-profiles/stored-profiles.ts'
import { isOwnedByAnother, listFurtherTables } from './table-ownership.ts'

type PendingDrop = Selectable<WarehouseDrops>

/**
 * A table or view to drop from an organisation's warehouse. If `table` is undefined, the schema is dropped if it is
 * empty.
 */
export interface DropRequest {
  client: string
  schema: string
  table?: string
}

/** Codes of errors for tables that this service does not manage. Such tables stay, and the drop is not retried. */
const unmanagedCodes = new Set(['TABLE_NOT_OURS', 'INVALID_NAME'])

/**
 * Records that a table or schema must be dropped from the warehouse, in the transaction that deletes the pipeline, view
 * or schema. Also deletes the descriptions and profiles of the table. Maintenance drops it later.
 */
export async function recordDrop(trx: Transaction<DB>, { client, schema, table }: DropRequest): Promise<void> {
  await trx
    .insertInto('warehouse_drops')
    .values({ client, schema_name: schema, table_name: table ?? null })
    .execute()
  if (table === undefined) return
  await deleteDescriptions(trx, { client, schema, table })
  await deleteProfiles(trx, { client, schema, table })
}

/**
 * Returns whether the table still has to be dropped, because its pipeline was deleted. Its rows must not be shown for a
 * new pipeline with the same table name.
 */
export async function isTableDropPending(
  db: Kysely<DB>,
  { client, schema, table }: Required<DropRequest>,
): Promise<boolean> {
  const pendingDrop = await db
    .selectFrom('warehouse_drops')
    .select('id')
    .where('client', '=', client)
    .where('schema_name', '=', schema)
    .where('table_name', '=', table)
    .limit(1)
    .executeTakeFirst()
  return pendingDrop !== undefined
}

/** The maximum number of tables and schemas that one call of `executeDueDrops` drops. */
const maxDropsPerCall = 50
const minutesPerDay = 1_440

/**
 * Drops up to `maxDropsPerCall` tables and schemas that are due, tables first, of one organisation or of all. Returns
 * the number of successful drops. Reports failed drops to `onFailure`; they are retried with exponential backoff of at
 * most a day.
 */
export async function executeDueDrops(
  db: Kysely<DB>,
  warehouses: ClientWarehouses,
  onFailure: (error: unknown, drop: PendingDrop) => void,
  client?: string,
): Promise<number> {
  let dueDrops = db.selectFrom('warehouse_drops').select('id').where('try_after', '<=', sql<Date>`now()`)
  if (client) dueDrops = dueDrops.where('client', '=', client)
  const drops = await dueDrops.orderBy(sql`table_name is null`).orderBy('id').limit(maxDropsPerCall).execute()
  let executed = 0
  for (const { id } of drops) if (await executeDrop(db, warehouses, id, onFailure)) executed += 1
  return executed
}

/**
 * Prepares the warehouse for a load: drops the table if a deleted pipeline left one with the target's name, and cancels
 * a recorded drop of the schema. Waits for a concurrent drop. Throws `WarehouseProblem` if the table cannot be dropped.
 */
export async function dropLeftover(db: Kysely<DB>, warehouse: Warehouse, target: Required<DropRequest>): Promise<void> {
  const selectConflicts = (executor: Kysely<DB>) =>
    executor
      .selectFrom('warehouse_drops')
      .selectAll()
      .where('client', '=', target.client)
      .where('schema_name', '=', target.schema)
      // A row without a table is the drop of the schema.
      .where((eb) => eb.or([eb('table_name', 'is', null), eb('table_name', '=', target.table)]))
  // Most loads have no conflict, and need no transaction.
  if ((await selectConflicts(db).execute()).length === 0) return
  await db.transaction().execute(async (trx) => {
    // Read the rows again under the lock, because a concurrent drop may have ended before.
    const conflicts = await selectConflicts(trx).orderBy('id').forUpdate().execute()
    if (conflicts.length === 0) return
    const hasTableDrop = conflicts.some(({ table_name }) => table_name !== null)
    if (hasTableDrop) await dropWithOtherTables(trx, warehouse, target)
    const ids = conflicts.map(({ id }) => id)
    await trx.deleteFrom('warehouse_drops').where('id', 'in', ids).execute()
  })
}

/**
 * Drops a table or schema while its row is locked, because a load into the same table waits for this lock. Returns
 * whether the drop succeeded. Returns false if another process is executing the drop. Other transactions must not wait
 * for a warehouse; this one may, because the statements have timeouts of seconds.
 */
async function executeDrop(
  db: Kysely<DB>,
  warehouses: ClientWarehouses,
  id: number,
  onFailure: (error: unknown, drop: PendingDrop) => void,
): Promise<boolean> {
  return db.transaction().execute(async (trx) => {
    const dropQuery = trx.selectFrom('warehouse_drops').selectAll().where('id', '=', id)
    const drop = await dropQuery.forUpdate().skipLocked().executeTakeFirst()
    if (!drop) return false
    try {
      const warehouse = await warehouses.find(drop.client)
      // An organisation without a warehouse has nothing to drop.
      if (warehouse) await dropFromWarehouse(trx, warehouse, drop)
    } catch (error) {
      onFailure(error, drop)
      await scheduleRetry(trx, drop)
      return false
    }
    await trx.deleteFrom('warehouse_drops').where('id', '=', id).execute()
    return true
  })
}

async function dropFromWarehouse(
  trx: Transaction<DB>,
  warehouse: Warehouse,
  { client, schema_name: schema, table_name: table }: PendingDrop,
): Promise<void> {
  if (table === null) await dropSchemaOrRelation(warehouse, { schema })
  else await dropWithOtherTables(trx, warehouse, { client, schema, table })
}

/** Delays a failed drop, by one minute after the first failure and twice as long after each further one. */
async function scheduleRetry(trx: Transaction<DB>, { id, tries }: PendingDrop): Promise<void> {
  const delayMinutes = Math.min(2 ** tries, minutesPerDay)
  const retryAt = sql<Date>`now() + make_interval(mins => ${delayMinutes}::int)`
  await trx
    .updateTable('warehouse_drops')
    .set({ tries: tries + 1, try_after: retryAt })
    .where('id', '=', id)
    .execute()
}

/** Drops a table. First drops the additional tables of its pipeline that no other object uses. */
async function dropWithOtherTables(db: Kysely<DB>, warehouse: Warehouse, target: Required<DropRequest>): Promise<void> {
  for (const table of await listFurtherTables(warehouse, target.schema, target.table))
    if (!(await isOwnedByAnother(db, { ...target, table }, target.table)))
      await dropSchemaOrRelation(warehouse, { ...target, table })
  await dropSchemaOrRelation(warehouse, target)
}

/**
 * Drops a table or view or, if `table` is undefined, the schema. Ignores errors with `unmanagedCodes`: Sluice does not
 * manage these objects, so they stay, and a retry would fail too.
 */
async function dropSchemaOrRelation(
  warehouse: Warehouse,
  { schema, table }: { schema: string; table?: string },
): Promise<void> {
  try {
    if (table === undefined) await warehouse.catalog.dropSchema(schema)
    else if (await warehouse.views.find(schema, table)) await warehouse.views.drop(schema, table)
    else await warehouse.catalog.dropTable(schema, table)
  } catch (error) {
    if (!(error instanceof WarehouseProblem && unmanagedCodes.has(error.code))) throw error
  }
}
