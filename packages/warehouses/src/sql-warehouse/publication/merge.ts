import { countRows, createFillableTable, hiddenName, type TableShape, withSession } from '../table-shape.ts'
import type { StagedRecords } from '../../load-target.ts'
import { replacedColumns, stagedRecords } from '../../ready-to-publish.ts'
import { WarehouseProblem } from '../../warehouse.ts'
import { fedColumns } from '../../shape/feed-memory.ts'
import type { TablePlace } from '../../catalog.ts'
import type { Dialect } from '../sql-dialect.ts'
import { type SqlStagedTable } from '../staging/staged-table.ts'
import { feedOf } from '../staging/plan-table.ts'
import type { Mark } from '../ledger.ts'
import { tableMark, type StagingColumn } from '../staging.ts'

/** The place of an increment's rows, and the rule that completes them to whole rows of the table. */
export interface MergeInput {
  /** The quoted SQL name. */
  staging: string
  columns: readonly { name: string; type: string }[]
  keys: readonly string[]
  /** The columns that the rows replace; the others keep the table's values. */
  replaced: readonly string[]
  live: TableShape
  /** The records that the rows are parts of. */
  records?: StagedRecords | undefined
}

/** Returns SQL for all rows of the merged table, with the types of the staging table. */
export function mergedRows(dialect: Dialect, { staging, columns, keys, replaced, live, records }: MergeInput): string {
  const { names } = dialect
  const { quoted } = names
  const there = new Set(live.columns.map(({ name }) => name))
  const table = names.place(live)
  const using = keys.map((key) => `came.${quoted(key)} = live.${quoted(key)}`).join(' and ')
  const kept = columns.map(({ name, type }) =>
    there.has(name)
      ? `cast(live.${quoted(name)} as ${type}) as ${quoted(name)}`
      : `cast(null as ${type}) as ${quoted(name)}`,
  )
  const notReplacedParts = records && there.has(records.column) ? ` and not ${isPartOf(dialect, records)}` : ''
  const came = columns.map(({ name }, index) =>
    replaced.includes(name) || !there.has(name) ? `came.${quoted(name)} as ${quoted(name)}` : kept[index]!,
  )
  return `select ${came.join(', ')} from ${staging} as came left join ${table} as live on ${using}
union all
select ${kept.join(', ')} from ${table} as live where not exists (select 1 from ${staging} as came where ${using})${notReplacedParts}`
}

/**
 * Returns the condition that a row is a part of one of the staged records. Compares ids as text, because records and parts may
 * have different types for them.
 */
function isPartOf({ names, types }: Dialect, { staging, keys, column }: StagedRecords): string {
  const text = (value: string) => `cast(${value} as ${types.longText})`
  const parts = keys.map((key) => text(`record.${names.quoted(key)}`))
  // Some servers concatenate at most two texts per call.
  const id = parts.reduce((before, part) => `concat(${before}, concat('/', ${part}))`)
  return `exists (select 1 from ${staging} as record where ${id} = ${text(`live.${names.quoted(column)}`)})`
}

/** A table next to the one that readers use, which includes the increment. */
export interface MergedTable extends TablePlace {
  id: string
  rows: number
}

/**
 * Writes the merged table. All rows are rewritten: readers never see half of an increment, and a repeated increment changes
 * nothing. The query runs as the client's user, so the client's text runs with the client's rights only.
 */
export async function writeMergedTable(
  dialect: Dialect,
  load: SqlStagedTable,
  records: SqlStagedTable | undefined,
  live: TableShape,
  signal: AbortSignal,
): Promise<MergedTable> {
  const lacking = load.keys.filter((name) => !live.columns.some((column) => column.name === name))
  if (lacking.length > 0)
    throw new WarehouseProblem(
      'NULL_KEY',
      `${load.place} has rows without ${lacking.map((name) => `"${name}"`).join(', ')}, which is to be its key. Load it in full once.`,
    )
  const place = { schema: load.target.schema, name: hiddenName('merged', load.staging, live.id) }
  const keys = new Set(load.keys)
  const columns = load.columns.map(
    (column): StagingColumn => ({
      ...column,
      primaryKey: keys.has(column.name),
      nullable: !keys.has(column.name),
    }),
  )
  const { run, attempt, schema, table } = load.target
  const mark: Mark = {
    kind: 'STAGING',
    run,
    attempt,
    target: [schema, table],
    ...tableMark(dialect.types, columns),
  }
  const id = await withSession(dialect, { role: 'service', signal }, (session) =>
    createFillableTable(dialect, session, place, columns, mark),
  )
  const merging = {
    staging: load.stagingTable,
    columns,
    keys: load.keys,
    replaced: replacedColumns({ brought: load.brought, fedBefore: fedColumns(feedOf(live)) })!,
    live,
    records: stagedRecords(records, load.target.partOf),
  }
  return await withSession(dialect, { role: 'load', signal }, async (session) => {
    const names = columns.map(({ name }) => name)
    for (const statement of dialect.changes.insert(place, names, mergedRows(dialect, merging)))
      await session.execute(statement)
    return { ...place, id, rows: await countRows(dialect, session, place) }
  })
}
