import { sql, type Kysely, type Selectable, type Transaction } from 'kysely'
import type { DB, WarehouseDrops } from '../../database.ts'
import type { ClientWarehouses } from '../warehouses/client-warehouses.ts'
import { type Warehouse, WarehouseProblem } from '../warehouses/warehouse.ts'
import { filledTables } from './pipeline-tables.ts'
import { isFilledByAnother, isTableTaken } from './pipeline-tables.ts'

type Drop = Selectable<WarehouseDrops>

/** What is to go from a client's warehouse: a table or view, or without one the schema, should it be empty by then. */
export interface ToDrop {
  client: string
  schema: string
  table?: string
}

/** Somebody else's by now, or not ours to begin with: it stays, and is not asked for again. */
const final = new Set(['TABLE_NOT_OURS', 'INVALID_NAME'])

/** Notes it in the transaction that deletes its pipeline or schema. */
export async function noteDrop(trx: Transaction<DB>, { client, schema, table }: ToDrop): Promise<void> {
  await trx
    .insertInto('warehouse_drops')
    .values({ client, schema_name: schema, table_name: table ?? null })
    .execute()
}

/** Whether the table there is one that a deleted pipeline left: not to be shown to whoever loads into the name next. */
export async function isToBeDropped(db: Kysely<DB>, { client, schema, table }: Required<ToDrop>): Promise<boolean> {
  const found = await db
    .selectFrom('warehouse_drops')
    .select('id')
    .where('client', '=', client)
    .where('schema_name', '=', schema)
    .where('table_name', '=', table)
    .limit(1)
    .executeTakeFirst()
  return found !== undefined
}

/**
 * Drops at once what waits, up to fifty of one client or of all, tables before the schemas they are in. Answers how many
 * are done with. What fails is tried again later and later, at last once a day; its error goes to `failed`.
 */
export async function dropWaiting(
  db: Kysely<DB>,
  warehouses: ClientWarehouses,
  failed: (error: unknown, drop: Drop) => void,
  client?: string,
): Promise<number> {
  let due = db.selectFrom('warehouse_drops').select('id').where('try_after', '<=', sql<Date>`now()`)
  if (client) due = due.where('client', '=', client)
  const waiting = await due.orderBy(sql`table_name is null`).orderBy('id').limit(50).execute()
  let done = 0
  for (const { id } of waiting) if (await dropOne(db, warehouses, id, failed)) done += 1
  return done
}

/**
 * Before a load into a name: what a deleted pipeline left there goes, and the schema stays. Waits for whoever drops it
 * just now. Throws `WarehouseProblem` when it cannot be dropped; nothing is loaded then.
 */
export async function clearTheWay(db: Kysely<DB>, warehouse: Warehouse, target: Required<ToDrop>): Promise<void> {
  const inTheWay = (on: Kysely<DB>) =>
    on
      .selectFrom('warehouse_drops')
      .selectAll()
      .where('client', '=', target.client)
      .where('schema_name', '=', target.schema)
      .where((eb) => eb.or([eb('table_name', 'is', null), eb('table_name', '=', target.table)]))
  if ((await inTheWay(db).execute()).length === 0) return
  await db.transaction().execute(async (trx) => {
    // Asked again under the lock: what was dropped meanwhile is gone.
    const rows = await inTheWay(trx).orderBy('id').forUpdate().execute()
    if (rows.some((row) => row.table_name !== null)) await dropWhole(trx, warehouse, target)
    const ids = rows.map(({ id }) => id)
    await trx
      .deleteFrom('warehouse_drops')
      .where('id', 'in', [0, ...ids])
      .execute()
  })
}

/**
 * Under the row's lock, which a load into the same table waits for before it begins. So the warehouse is asked inside the
 * transaction, in the one place where that is right; what is asked ends within seconds.
 */
async function dropOne(
  db: Kysely<DB>,
  warehouses: ClientWarehouses,
  id: number,
  failed: (error: unknown, drop: Drop) => void,
): Promise<boolean> {
  return db.transaction().execute(async (trx) => {
    const found = trx.selectFrom('warehouse_drops').selectAll().where('id', '=', id)
    const drop = await found.forUpdate().skipLocked().executeTakeFirst()
    if (!drop) return false
    try {
      const warehouse = await warehouses.find(drop.client)
      // One that was never made holds nothing.
      const [schema, table] = [drop.schema_name, drop.table_name ?? undefined]
      if (warehouse && table === undefined) await dropThere(warehouse, { schema })
      else if (warehouse && table !== undefined) await dropWhole(trx, warehouse, { client: drop.client, schema, table })
    } catch (error) {
      failed(error, drop)
      const wait = sql<Date>`now() + make_interval(mins => ${Math.min(2 ** drop.tries, 1440)}::int)`
      await trx
        .updateTable('warehouse_drops')
        .set({ tries: drop.tries + 1, try_after: wait })
        .where('id', '=', id)
        .execute()
      return false
    }
    await trx.deleteFrom('warehouse_drops').where('id', '=', id).execute()
    return true
  })
}

/** A table, and before it those that its pipeline filled besides: it is what says which these are. Others have them by now, or they go. */
async function dropWhole(db: Kysely<DB>, warehouse: Warehouse, target: Required<ToDrop>): Promise<void> {
  for (const table of await filledTables(warehouse, target.schema, target.table))
    if (
      !(await isTableTaken(db, { ...target, table })) &&
      !(await isFilledByAnother(db, { ...target, table }, target.table))
    )
      await dropThere(warehouse, { ...target, table })
  await dropThere(warehouse, target)
}

async function dropThere(warehouse: Warehouse, { schema, table }: { schema: string; table?: string }): Promise<void> {
  try {
    if (table === undefined) await warehouse.dropSchema(schema)
    else if (await warehouse.findView(schema, table)) await warehouse.dropView(schema, table)
    else await warehouse.dropTable(schema, table)
  } catch (error) {
    if (!(error instanceof WarehouseProblem && final.has(error.code))) throw error
  }
}
