import type { Kysely } from 'kysely'
import type { DB } from '../../../database.ts'
import type { ClientWarehouses } from '../../warehouses/client-warehouses.ts'
import type { Duty } from '../janitor.ts'
import { eachWarehouse, everyClient } from './each-warehouse.ts'

const every = 6 * 3_600_000

/** Drops what loads replaced and is not kept any longer, in every warehouse. */
export function expirePrevious({ db, warehouses }: { db: Kysely<DB>; warehouses: ClientWarehouses }): Duty {
  let expiredAt = 0

  return {
    name: 'previous publications',
    async run(signal) {
      if (Date.now() - expiredAt < every) return 0
      let dropped = 0
      await eachWarehouse(warehouses, await everyClient(db), signal, async (warehouse) => {
        dropped += await warehouse.expirePrevious()
      })
      expiredAt = Date.now()
      return dropped
    },
  }
}
