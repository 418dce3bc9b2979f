import { escapeIdentifier } from 'pg'
import type { ReadyTable } from '../warehouse.ts'
import { isPartOf } from './merge.ts'
import { qualified } from './names.ts'
import type { Shape } from './shape.ts'

/**
 * The query for the rows that a table will have: those of the staging table, and where they are merged into the live
 * partition, the others of that. The same as `mergeInPlace` comes to.
 */
export function rehearsedRows({ staging: name, merge }: ReadyTable, staging: Shape, live: Shape | undefined): string {
  const here = qualified('sluice', name)
  const known = new Set(staging.columns.map((column) => column.name))
  const isMerged = merge !== undefined && live?.partition !== undefined
  const before = (live?.columns ?? []).map((column) => column.name).filter((column) => isMerged || known.has(column))
  const added = staging.columns.map((column) => column.name).filter((column) => !before.includes(column))
  const columns = [...before, ...added]
  if (merge === undefined || live?.partition === undefined) return `select ${list(columns)} from ${here}`

  const old = qualified('sluice', live.partition)
  const same = merge.keys.map((key) => `came.${escapeIdentifier(key)} = old.${escapeIdentifier(key)}`).join(' and ')
  const brought = new Set(merge.columns ?? known)
  const merged = columns.map((column) => `${brought.has(column) ? 'came' : 'old'}.${escapeIdentifier(column)}`)
  const { records } = merge
  const gone = records && before.includes(records.column) ? ` and not ${isPartOf(records, 'old')}` : ''
  return `select ${list(columns, 'old')} from ${old} as old where not exists (select from ${here} as came where ${same})${gone}
    union all select ${merged.join(', ')} from ${here} as came left join ${old} as old on ${same}`
}

const list = (columns: readonly string[], of?: string) =>
  columns.map((column) => (of ? `${of}.${escapeIdentifier(column)}` : escapeIdentifier(column))).join(', ')
