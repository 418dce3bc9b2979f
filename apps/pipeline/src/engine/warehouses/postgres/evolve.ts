import { escapeIdentifier } from 'pg'
import type { TableChange, TargetColumn } from '../warehouse.ts'
import { columnComments, columnList, type StagingColumn } from './staging.ts'
import type { Shape, ShapeColumn } from './shape.ts'
import { sqlType, widest } from './types.ts'

/**
 * What a staging table looks like so that it fits its table with as little as possible left for the swap: the wider
 * type of both where a column exists already, and the columns that vanished from the source, which stay null.
 */
export function stagingColumns(fed: readonly TargetColumn[], table: Shape | undefined): StagingColumn[] {
  const existing = new Map(table?.columns.map((column) => [column.name, column]))
  const own = fed.map((column) => {
    const type = sqlType(column)
    const before = existing.get(column.name)
    return { name: column.name, label: column.label, type: before ? widest(before.type, type) : type }
  })
  const names = new Set(own.map(({ name }) => name))
  return [...own, ...(table?.columns ?? []).filter(({ name }) => !names.has(name))]
}

export interface Evolution {
  /** For the staging table, before anyone is kept waiting: what changed since it was made. Nearly always empty. */
  forStaging: string[]
  /** For the table, between the old partition's detaching and the new one's attaching. */
  forTable: string[]
  /** The partition key's type has to change, which PostgreSQL refuses: the (empty) parent is made anew. */
  rebuild: boolean
  changes: TableChange[]
}

/** How two tables become attachable. `fedBefore` are the columns the last load brought. */
export function evolve(
  names: { table: string; staging: string },
  table: Shape,
  staging: Shape,
  fed: readonly string[],
  fedBefore: readonly string[],
): Evolution {
  const staged = new Map(staging.columns.map((column) => [column.name, column]))
  const evolution: Evolution = { forStaging: [], forTable: [], rebuild: false, changes: [] }
  for (const column of table.columns) {
    const incoming = staged.get(column.name)
    if (incoming) widen(names, column, incoming, evolution)
    else evolution.forStaging.push(`alter table ${names.staging} add column ${columnList([column])}`)
    if (fedBefore.includes(column.name) && !fed.includes(column.name)) {
      evolution.changes.push({ kind: 'COLUMN_VANISHED', column: column.name })
    }
  }
  const existing = new Set(table.columns.map(({ name }) => name))
  const added = staging.columns.filter(({ name }) => !existing.has(name))
  for (const column of added) {
    evolution.forTable.push(`alter table ${names.table} add column ${columnList([column])}`)
    evolution.changes.push({ kind: 'COLUMN_ADDED', column: column.name, to: column.type })
  }
  const relabelled = table.columns.flatMap(({ name, label }) => {
    const incoming = staged.get(name)
    return incoming && incoming.label !== label && fed.includes(name) ? [incoming] : []
  })
  evolution.forTable.push(...columnComments(names.table, added), ...columnComments(names.table, relabelled))
  return evolution
}

function widen(
  names: { table: string; staging: string },
  column: ShapeColumn,
  incoming: ShapeColumn,
  evolution: Evolution,
): void {
  const to = widest(column.type, incoming.type)
  const identifier = escapeIdentifier(column.name)
  if (incoming.type !== to)
    evolution.forStaging.push(`alter table ${names.staging} alter column ${identifier} type ${to}`)
  if (column.type === to) return
  evolution.changes.push({ kind: 'TYPE_WIDENED', column: column.name, from: column.type, to })
  if (column.partitionKey) evolution.rebuild = true
  else evolution.forTable.push(`alter table ${names.table} alter column ${identifier} type ${to}`)
}

/** The table people see: it has no rows of its own, only one default partition at a time. */
export function createTable(table: string, columns: readonly StagingColumn[], read: string): string[] {
  // Text never has to widen, so as a key it never forces a rebuild.
  const key = columns.find(({ type }) => type === 'text') ?? columns[0]!
  return [
    `create table ${table} (${columnList(columns)}) partition by list (${escapeIdentifier(key.name)})`,
    ...columnComments(table, columns),
    `grant select on ${table} to ${escapeIdentifier(read)}`,
  ]
}

/** The columns of a rebuilt table: in the old order at the widened types, new ones at the end. */
export function rebuiltColumns(table: Shape, staging: Shape): StagingColumn[] {
  const staged = new Map(staging.columns.map((column) => [column.name, column]))
  const kept = table.columns.map((column) => {
    const incoming = staged.get(column.name)
    return incoming ? { ...incoming, type: widest(column.type, incoming.type) } : column
  })
  const names = new Set(kept.map(({ name }) => name))
  return [...kept, ...staging.columns.filter(({ name }) => !names.has(name))]
}
