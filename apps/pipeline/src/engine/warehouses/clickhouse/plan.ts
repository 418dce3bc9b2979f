import { demandReady } from '../ready-to-publish.ts'
import type { PlannedTable, PlanOptions } from '../warehouse.ts'
import { recordsOf } from '../whole-records.ts'
import type { ClientAccess } from './access.ts'
import { entryOf } from './ledger.ts'
import type { ClickHouseLoad } from './load.ts'
import { countMerged } from './merge.ts'
import { completeStaging } from './plan-load.ts'
import { warehouseProblem } from './problems.ts'
import { compare, keyTwice } from './publish.ts'
import { settlePending, unlessOvertaken } from './settle.ts'

/** See `Warehouse.plan`. */
export async function planTables(
  access: ClientAccess,
  given: readonly ClickHouseLoad[],
  { mode = 'REPLACE', gate, planned }: PlanOptions,
  signal: AbortSignal,
): Promise<PlannedTable[]> {
  const loads = given.toSorted((one, other) => (one.place < other.place ? -1 : 1))
  const [first] = loads
  if (!first) return []
  const merging = mode === 'MERGE'
  const tables: PlannedTable[] = []
  try {
    await settlePending(access).catch(unlessOvertaken)
    for (const load of loads) await completeStaging(access, load, merging)
    const lookFirst: typeof gate = async (ready, aborted) => {
      for (const load of loads) tables.push(await planOne(access, loads, load, mode, signal))
      await planned?.(tables)
      await gate?.(ready, aborted)
    }
    await demandReady(loads, { merging, gate: lookFirst, keyTwice: (load) => keyTwice(access, load, signal) }, signal)
    return tables
  } catch (error) {
    throw warehouseProblem(error, first.place)
  }
}

async function planOne(
  access: ClientAccess,
  loads: readonly ClickHouseLoad[],
  load: ClickHouseLoad,
  mode: 'REPLACE' | 'MERGE',
  signal: AbortSignal,
): Promise<PlannedTable> {
  const { schema, table } = load.target
  const { live, staging, changes } = await compare(access, load, mode)
  const rowsAfter =
    live && mode === 'MERGE'
      ? await countMerged(access, load, recordsOf(loads, load.target), { staging, live }, signal)
      : await load.count()
  if (!live) return { schema, table, rowsAfter, changes: [] }
  const before = await entryOf(access, live.mark?.load)
  return { schema, table, rowsBefore: before?.tableRows ?? live.rows, rowsAfter, changes }
}
