import { WarehouseProblem } from '../warehouse.ts'
import type { ClientAccess } from '../tsql/access.ts'
import { on } from '../tsql/provision.ts'

/**
 * A pool shows rows that are not committed unless it is told to show the last ones that are. Readers of the ledger would see halves of what
 * is written, and readers of tables halves of a transformation.
 */
export async function demandSnapshots({ logins, database }: ClientAccess): Promise<void> {
  const told = await on(logins.service, (_run, ask) =>
    ask(`select cast(is_read_committed_snapshot_on as int) as found from sys.databases where name = db_name()`),
  )
  if (Number(told) === 1) return
  throw new WarehouseProblem(
    'WAREHOUSE_NOT_SET_UP',
    `The Synapse pool “${database}” shows rows that are not committed. An operator has to run ALTER DATABASE [${database}] SET READ_COMMITTED_SNAPSHOT ON in its master database, while nobody else is connected.`,
  )
}
