import { fedColumns, type FeedMemory, memoryOfTable } from '../shape/feed-memory.ts'
import { type LoadedFeed, memoryOf, planLoad } from '../shape/load-shape.ts'
import type { PlannedColumn } from '../shape/plan-shape.ts'
import { planTable, type TablePlan } from '../shape/plan-table.ts'
import type { ClientAccess } from './clickhouse-settings.ts'
import { execute } from './http.ts'
import { type LedgerEntry, entryOf } from './ledger.ts'
import type { ClickHouseLoad } from './clickhouse-loader.ts'
import { databaseOf, quoted } from './names.ts'
import { readShape, type ClickHouseShape } from './table-shape.ts'
import { columnText, emptyColumn, type StagingColumn, stagingColumn } from './staging.ts'
import { typeRules } from './types.ts'

/** The memory of a table's last load. For tables of older versions, it is derived from the table. */
export const feedOf = (live: ClickHouseShape | undefined, entry: LedgerEntry | undefined): FeedMemory | undefined =>
  live && (entry?.feed ?? memoryOfTable(live.columns, entry?.fedColumns ?? []))

export interface LoadPlan {
  /** One entry for each column of the feed, in its order. */
  planned: PlannedColumn[]
  table: TablePlan<StagingColumn>
  feed: FeedMemory
}

/** Plans the table after a load with its rows in `staged`, or before they are written. Throws the errors of `planLoad`. */
export function planTableAfterLoad(
  live: ClickHouseShape | undefined,
  entry: LedgerEntry | undefined,
  loaded: LoadedFeed & { reading?: unknown },
  staging?: { columns: readonly StagingColumn[]; brought: readonly string[] | undefined },
): LoadPlan {
  const last = feedOf(live, entry)
  const plan = planLoad(typeRules, last, loaded)
  const staged = staging?.columns.filter(({ name }) => staging.brought?.includes(name) ?? true)
  const coming = (staged ?? plan.columns.filter(({ ignored }) => !ignored)).map(stagingColumn)
  const merging = loaded.merging ?? loaded.target.shape?.merging === true
  const table = planTable(typeRules, live?.columns.map(emptyColumn), coming, plan, { merging })
  // The staging table may have been completed already.
  const missing = table.missing.filter((column) => !staging?.columns.some(({ name }) => name === column.name))
  const feed = memoryOf(loaded.target, last, table.memory, loaded.reading)
  return { planned: plan.columns, table: { ...table, missing }, feed }
}

/**
 * Adds the columns to a staging table that only the published table has, in the same order, so that checks on staged rows can use them.
 */
export async function completeStaging(access: ClientAccess, load: ClickHouseLoad, merging: boolean): Promise<void> {
  const { schema, table } = load.target
  const staging = await readShape(access.service, load.database, table)
  if (!staging) return
  const live = await readShape(access.service, databaseOf({ key: access.key, schema }), table)
  load.brought ??= staging.columns.map(({ name }) => name)
  const entry = await entryOf(access, live?.mark?.load)
  load.fedBefore = fedColumns(feedOf(live, entry))
  const { table: plan } = planTableAfterLoad(
    live,
    entry,
    { ...loadedOf(load), merging },
    { ...staging, brought: load.brought },
  )
  const changes = [
    ...plan.restaged.map((column) => `modify column ${columnText(column)}`),
    ...plan.missing.map((column) => {
      const before = plan.columns[plan.columns.findIndex(({ name }) => name === column.name) - 1]
      return `add column ${columnText(column)} ${before ? `after ${quoted(before.name)}` : 'first'}`
    }),
  ]
  if (changes.length > 0)
    await execute(access.service, `alter table ${load.stagingTable} ${changes.join(', ')}`, {
      settings: { alter_sync: 2, mutations_sync: 2 },
    })
}

export const loadedOf = ({ target, held, reading, written }: ClickHouseLoad): LoadedFeed & { reading?: unknown } => ({
  target,
  held,
  reading,
  sourceRows: written?.rows,
})
