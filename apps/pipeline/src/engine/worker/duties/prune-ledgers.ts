import type { Kysely } from 'kysely'
import type { DB } from '../../../database.ts'
import type { ClientWarehouses } from '../../warehouses/client-warehouses.ts'
import type { Duty } from '../janitor.ts'
import { eachWarehouse, everyClient } from './each-warehouse.ts'

const day = 86_400_000

/** Once a day, in every warehouse: its ledger forgets the runs that are forgotten here, as far as no table holds them. */
export function pruneLedgers(parts: { db: Kysely<DB>; warehouses: ClientWarehouses; days: number }): Duty {
  const { db, warehouses, days } = parts
  let prunedAt = 0

  return {
    name: 'ledger entries',
    async run(signal) {
      if (Date.now() - prunedAt < day) return 0
      let pruned = 0
      await eachWarehouse(warehouses, await everyClient(db), signal, async (warehouse) => {
        pruned += await warehouse.pruneLedger(days)
      })
      prunedAt = Date.now()
      return pruned
    },
  }
}
