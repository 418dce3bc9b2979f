import { keepsRows, type PlannedTable, type PlanOptions } from '../../warehouse.ts'
import { reportRowLoss } from '../../shape/plan-load.ts'
import { type PostgresPools, withClient } from '../postgres-connections.ts'
import { planEvolution, planPublication } from './plan-publishing.ts'
import { stagingTableMissing, type PostgresStagedTable } from '../staged-table.ts'
import { tableNotOwned, warehouseProblem } from '../map-server-errors.ts'
import { qualifyName } from '../sql-identifiers.ts'
import { prepareLoads, readyTableOf } from './publish-run.ts'
import { selectRowsAfterPublication } from './staged-rows-preview.ts'
import { readShapes } from '../table-shape.ts'
import { listBlockingViews } from './table-swap.ts'

/** The time limit for counting the rows of a merge, which compares both tables by key. */
const setStatementTimeout = `set local statement_timeout = '12h'`

/** See `Loader.plan`. Describes what the publication would change. Blocks neither readers nor other loads. */
export async function planTables(
  pools: PostgresPools,
  stagedTables: readonly PostgresStagedTable[],
  options: PlanOptions,
  signal: AbortSignal,
): Promise<PlannedTable[]> {
  const loads = await prepareLoads({ pools, loads: stagedTables, options }, signal)
  const tables: PlannedTable[] = []
  for (const load of loads) tables.push(await planLoadedTable(pools, load, options, signal))
  await options.onPlan?.(tables)
  await options.gate?.(
    loads.map((load) => readyTableOf(load, options)),
    signal,
  )
  return tables
}

/**
 * Plans one table with the same comparison as `prepareSwap`, in a transaction that only reads. Throws if the table
 * belongs to another owner, the staging table is missing, or views of other roles block the change.
 */
async function planLoadedTable(
  pools: PostgresPools,
  load: PostgresStagedTable,
  options: PlanOptions,
  signal: AbortSignal,
): Promise<PlannedTable> {
  const { schema, table } = load.target
  try {
    return await withClient(pools.transactions, signal, async (client) => {
      await client.query(`begin read only; ${setStatementTimeout}`)
      const [currentShape, stagingShape] = await readShapes(client, [load.target, load.staging])
      if (currentShape && !currentShape.owned) throw tableNotOwned(load.problemContext)
      if (!stagingShape) throw stagingTableMissing(load)
      const lastPublication = currentShape?.lastPublication
      const isMerge = keepsRows(options.mode) && currentShape?.partition !== undefined
      const { table: plan } = planPublication(load, { currentShape, staging: stagingShape, merging: isMerge })
      const selectRowsAfter = selectRowsAfterPublication(readyTableOf(load, options), stagingShape, currentShape)
      const { rows } = await client.query<{ count: number }>(
        `select count(*)::float8 as count from (${selectRowsAfter}) as row_after`,
      )
      const rowsAfter = rows[0]!.count
      if (currentShape && (!isMerge || load.copiedRows)) {
        const { rebuild: needsRebuild } = planEvolution(
          qualifyName(schema, table),
          currentShape,
          plan,
          load.suppliedColumns,
        )
        // Throws if another role owns one of the views. The views themselves are not needed.
        await listBlockingViews(client, load.problemContext, currentShape, plan, needsRebuild)
      }
      const rowCountChanges =
        currentShape && !isMerge ? reportRowLoss(load.target, lastPublication?.tableRows, load.written!.rows) : []
      await client.query('rollback')
      const changes = currentShape ? [...plan.changes, ...rowCountChanges] : []
      return {
        schema,
        table,
        ...(currentShape && { rowsBefore: lastPublication?.tableRows ?? currentShape.estimatedRows }),
        rowsAfter,
        changes,
        ...(load.target.listsTables && { listsTables: true as const }),
      }
    })
  } catch (error) {
    signal.throwIfAborted()
    throw warehouseProblem(error, load.problemContext)
  }
}
