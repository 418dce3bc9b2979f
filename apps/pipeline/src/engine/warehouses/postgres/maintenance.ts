import { withClient } from './access.ts'
import type { Pools, PostgresLoad } from './load.ts'
import { qualified } from './names.ts'
import { readShape } from './shape.ts'

/**
 * Autovacuum gives way to whoever has waited a second (`deadlock_timeout`) for a lock that it is in the way of. If that
 * were the swap's exclusive lock, readers would queue behind it for that second; they pass this one by.
 */
const lock = (table: string) => `lock table only ${table} in share update exclusive mode`

/** For a transaction that is to swap, of whose locks the others wait so many milliseconds. `table` is quoted. */
export function keepMaintenanceOut(table: string, wait: number): string {
  return `set local lock_timeout = '5s'; ${lock(table)}; set local lock_timeout = ${wait}`
}

/**
 * Makes autovacuum let go of the partition that is about to be replaced, while the new one is still being prepared. It is
 * busy there for minutes after a large load, and comes back no sooner than a minute later. Never throws.
 */
export async function interruptMaintenance({ statements }: Pools, { target }: PostgresLoad): Promise<void> {
  await withClient(statements, undefined, async (client) => {
    const partition = (await readShape(client, target.schema, target.table))?.partition
    if (partition === undefined) return
    await client.query(`begin; set local lock_timeout = '2s'; ${lock(qualified('sluice', partition))}; commit`)
  }).catch(() => {})
}
