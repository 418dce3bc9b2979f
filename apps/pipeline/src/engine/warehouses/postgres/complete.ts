import { withClient } from './access.ts'
import { fedColumns } from '../shape/feed-memory.ts'
import { fallOfRows } from '../shape/load-shape.ts'
import { completeStaging } from './evolve.ts'
import { feedOf } from './catalogue.ts'
import { lastEntry } from './ledger.ts'
import { gone, type Pools, type PostgresLoad } from './load.ts'
import { qualified } from './names.ts'
import { olderReaders } from './older-readers.ts'
import { planPublication } from './plan-publication.ts'
import { warehouseProblem } from './problems.ts'
import { readShape } from './shape.ts'

/**
 * Adds the columns to a staging table that only the published table has, so that checks on staged rows can use them.
 * Throws `WarehouseProblem` SCHEMA_MISMATCH or DATES_AMBIGUOUS if the plan refuses the rows.
 */
export async function complete(pools: Pools, load: PostgresLoad, merging: boolean, signal: AbortSignal): Promise<void> {
  const { schema, table } = load.target
  const here = qualified('sluice', load.stagingTable)
  try {
    await withClient(pools.transactions, signal, async (client) => {
      const staging = await readShape(client, 'sluice', load.stagingTable)
      if (!staging) throw gone(load)
      const live = await readShape(client, schema, table)
      const last = await lastEntry(client, live?.partition)
      load.brought ??= staging.columns.map(({ name }) => name)
      const { table: plan } = planPublication(load, { live, staging, last, merging: merging && live !== undefined })
      if (!merging) fallOfRows(load.target, last?.tableRows, load.written!.rows)
      load.fedBefore = fedColumns(feedOf(live, last))
      const statements = completeStaging(here, plan)
      if (statements.length > 0) await client.query(statements.join(';'))
      // Rows that were written anew are not frozen.
      if (plan.restaged.length > 0) load.older = [await olderReaders(client)]
    })
  } catch (error) {
    signal.throwIfAborted()
    throw warehouseProblem(error, load.scene)
  }
}
