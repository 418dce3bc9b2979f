import type { Kysely } from 'kysely'
import type { DB } from '../../../database.ts'
import type { ClientWarehouses } from '../../warehouses/client-warehouses.ts'
import type { Warehouse } from '../../warehouses/warehouse.ts'

/** Does the same in the warehouses of these clients. One that is away does not keep the others from it; then it throws. */
export async function eachWarehouse(
  warehouses: ClientWarehouses,
  clients: readonly string[],
  signal: AbortSignal,
  work: (warehouse: Warehouse, client: string) => Promise<void>,
): Promise<void> {
  const failures: unknown[] = []
  for (const client of clients) {
    signal.throwIfAborted()
    try {
      await work(await warehouses.open(client), client)
    } catch (error) {
      failures.push(error)
    }
  }
  if (failures.length > 0) throw failures[0]
}

/** The clients that have a warehouse. */
export async function everyClient(db: Kysely<DB>): Promise<string[]> {
  const rows = await db.selectFrom('warehouses').select('client').where('provisioned_at', 'is not', null).execute()
  return rows.map(({ client }) => client)
}
