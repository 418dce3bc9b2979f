import { type FeedMemory, memoryOfTable } from '../../shape/remembered-feed.ts'
import { type LoadedFeed, memoryOf, planLoad } from '../../shape/load-shape.ts'
import type { PlannedColumn } from '../../shape/plan-shape.ts'
import { planTable, type TablePlan } from '../../shape/plan-table.ts'
import type { LedgerEntry } from '../ledger.ts'
import { type ClickHouseShape, emptyColumn, type StagingColumn, stagingColumn } from '../table-shape.ts'
import { typeRules } from '../types.ts'

/** Returns the memory of a table's last load; for a table of an older version, derives it from the table's columns. */
export const feedOf = (
  currentShape: ClickHouseShape | undefined,
  entry: LedgerEntry | undefined,
): FeedMemory | undefined =>
  currentShape && (entry?.feed ?? memoryOfTable(currentShape.columns, entry?.fedColumns ?? []))

export interface LoadPlan {
  /** One entry for each column of the feed, in the order of the feed. */
  planned: PlannedColumn[]
  table: TablePlan<StagingColumn>
  feed: FeedMemory
}

/** Plans the table after a load with its rows in `staged`, or before they are written. Throws the errors of `planLoad`. */
export function planTableAfterLoad(
  currentShape: ClickHouseShape | undefined,
  entry: LedgerEntry | undefined,
  loaded: LoadedFeed & { reading?: unknown },
  staging?: { columns: readonly StagingColumn[]; suppliedColumns: readonly string[] | undefined },
): LoadPlan {
  const last = feedOf(currentShape, entry)
  const plan = planLoad(typeRules, last, loaded)
  const staged = staging?.columns.filter(({ name }) => staging.suppliedColumns?.includes(name) ?? true)
  const coming = (staged ?? plan.columns.filter(({ ignored }) => !ignored)).map(stagingColumn)
  const merging = loaded.merging ?? loaded.target.shape?.merging === true
  const table = planTable(typeRules, currentShape?.columns.map(emptyColumn), coming, plan, { merging })
  // The staging table may have been completed already.
  const missing = table.missing.filter((column) => !staging?.columns.some(({ name }) => name === column.name))
  const feed = memoryOf(loaded.target, last, table.memory, loaded.reading)
  return { planned: plan.columns, table: { ...table, missing }, feed }
}
