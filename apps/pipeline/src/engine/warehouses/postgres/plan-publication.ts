import { memoryOf, planLoad } from '../shape/load-shape.ts'
import type { FeedMemory } from '../shape/feed-memory.ts'
import { planTable, type TablePlan } from '../shape/plan-table.ts'
import { feedOf } from './catalogue.ts'
import { type Column, columnsOf } from './evolve.ts'
import type { LastEntry } from './ledger.ts'
import type { PostgresLoad } from './load.ts'
import type { Shape } from './shape.ts'
import { typeRules } from './types.ts'

interface Found {
  live: Shape | undefined
  staging: Shape
  last: LastEntry | undefined
  merging: boolean
}

/** Plans the table after its staged rows are published, and its memory for the next load. Throws as `planLoad` does. */
export function planPublication(
  load: PostgresLoad,
  { live, staging, last, merging }: Found,
): { table: TablePlan<Column>; feed: FeedMemory } {
  const before = feedOf(live, last)
  const plan = planLoad(typeRules, before, {
    target: load.target,
    held: load.held,
    sourceRows: load.written?.sourceRows,
    merging,
  })
  const now = new Map(plan.columns.map((column) => [column.name, column]))
  const begun = new Map(load.planned.map((column) => [column.name, column]))
  // Another load may have made the table wider since this one began. What a transformation changed stays as it left it.
  const brought = columnsOf(staging).filter(({ name }) => load.brought?.includes(name) ?? true)
  const staged = brought.map((column) => {
    const untouched = begun.get(column.name)?.type === column.type
    const wanted = untouched ? now.get(column.name) : undefined
    return wanted ? { ...column, type: wanted.type, dataType: wanted.dataType } : column
  })
  const table = planTable(typeRules, live && columnsOf(live), staged, plan, { merging })
  const types = new Map(columnsOf(staging).map(({ name, type }) => [name, type]))
  // The staging table may have been completed already.
  const missing = table.missing.filter(({ name }) => !types.has(name))
  const restaged = table.columns.filter(({ name, type }) => types.has(name) && types.get(name) !== type)
  return {
    table: { ...table, missing, restaged },
    feed: memoryOf(load.target, before, table.memory, load.reading),
  }
}
