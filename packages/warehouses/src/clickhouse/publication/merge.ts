import { randomUUID } from 'node:crypto'
import type { StagedRecords } from '../../load-target.ts'
import { replacedColumns, stagedRecords } from '../../ready-to-publish.ts'
import { WarehouseProblem } from '../../warehouse.ts'
import { type ClientAccess, maxStatementSeconds } from '../clickhouse-settings.ts'
import { execute, rowsOf } from '../protocol/http.ts'
import { type ClickHouseStagedTable, uuidOf } from '../staging/staged-table.ts'
import { qualified, quoted } from '../names.ts'
import { type ClickHouseShape, createTable } from '../table-shape.ts'

/** Hash tables that outgrow the memory go to disk. */
const joining = { join_use_nulls: 1, join_algorithm: 'grace_hash,hash', max_bytes_before_external_group_by: 2 ** 31 }

/** The place of an increment's rows, and the rule that completes them to whole rows of the table. */
interface MergeInput {
  /** `database.table`, quoted. */
  staging: string
  columns: readonly { name: string; type: string; nullable: boolean }[]
  keys: readonly string[]
  /** The columns that the rows replace; the others keep the table's values. */
  replaced: readonly string[]
  live: Pick<ClickHouseShape, 'database' | 'name' | 'columns'>
  /** The records that the rows are parts of. */
  records?: StagedRecords | undefined
}

/** Returns SQL for all rows of the merged table, with the types of the staging table. */
export function buildMergeQuery({ staging, columns, keys, replaced, live, records }: MergeInput): string {
  const there = new Set(live.columns.map(({ name }) => name))
  const table = qualified(live.database, live.name)
  const using = keys.map((key) => `came.${quoted(key)} = live.${quoted(key)}`).join(' and ')
  const cast = ({ name, type, nullable }: MergeInput['columns'][number], of: string) => {
    const whole = nullable ? `Nullable(${type})` : type
    return there.has(name) ? `cast(${of}.${quoted(name)} as ${whole})` : `cast(null as ${whole})`
  }
  const came = columns.map((column) =>
    replaced.includes(column.name) || !there.has(column.name)
      ? `came.${quoted(column.name)} as ${quoted(column.name)}`
      : `${cast(column, 'live')} as ${quoted(column.name)}`,
  )
  const kept = columns.map((column) => `${cast(column, 'live')} as ${quoted(column.name)}`)
  const needsLive = columns.some(({ name }) => !replaced.includes(name) && there.has(name))
  const joined = needsLive ? ` left join ${table} as live on ${using}` : ''
  return `select ${came.join(', ')} from ${staging} as came${joined}
    union all select ${kept.join(', ')} from ${table} as live left anti join ${staging} as came on ${using}${
      records && there.has(records.column) ? ` where not ${isPartOf(records)}` : ''
    }`
}

/**
 * Returns the condition that a row is a part of one of the staged records. Compares ids as text, because records and parts may
 * have different types for them.
 */
function isPartOf({ staging, keys, column }: StagedRecords): string {
  const parts = keys.map((key) => `toString(${quoted(key)})`)
  const id = parts.length === 1 ? parts[0] : `concat(${parts.join(`, '/', `)})`
  return `ifNull(toString(live.${quoted(column)}), '') in (select ${id} from ${staging})`
}

function mergedColumns(load: ClickHouseStagedTable, staging: ClickHouseShape) {
  const keys = new Set(load.keys)
  return staging.columns.map((column) => ({ ...column, primaryKey: keys.has(column.name) }))
}

/** Returns the query for all rows of a table merged with an increment. Throws NULL_KEY if the table lacks a column of the key. */
function buildTableMergeQuery(
  load: ClickHouseStagedTable,
  records: ClickHouseStagedTable | undefined,
  staging: ClickHouseShape,
  live: ClickHouseShape,
): string {
  const lacking = load.keys.filter((name) => !live.columns.some((column) => column.name === name))
  if (lacking.length > 0)
    throw new WarehouseProblem(
      'NULL_KEY',
      `${load.place} has rows without ${lacking.map((name) => `"${name}"`).join(', ')}, which is to be its key. Load it in full once.`,
    )
  return buildMergeQuery({
    staging: load.stagingTable,
    columns: mergedColumns(load, staging),
    keys: load.keys,
    replaced: replacedColumns(load) ?? staging.columns.map(({ name }) => name),
    live,
    records: stagedRecords(records, load.target.partOf),
  })
}

/** Returns the number of rows that `writeMergedTable` would write. */
export async function countMerged(
  access: ClientAccess,
  load: ClickHouseStagedTable,
  records: ClickHouseStagedTable | undefined,
  { staging, live }: { staging: ClickHouseShape; live: ClickHouseShape },
  signal: AbortSignal,
): Promise<number> {
  const [row] = await rowsOf<{ rows: number }>(
    access.load,
    `select count() as rows from (${buildTableMergeQuery(load, records, staging, live)})`,
    { signal, settings: { ...joining, max_execution_time: maxStatementSeconds } },
  )
  return row!.rows
}

/**
 * Writes the merged table next to the one that readers use. Returns the id of the merged load and the uuid of its table. All rows
 * are rewritten: readers never see half of an increment, and a repeated increment changes nothing. The query runs as the client's
 * user, so a substitute for the staging table cannot read more than the client may.
 */
export async function writeMergedTable(
  access: ClientAccess,
  load: ClickHouseStagedTable,
  records: ClickHouseStagedTable | undefined,
  staging: ClickHouseShape,
  live: ClickHouseShape,
  signal: AbortSignal,
): Promise<{ load: string; uuid: string }> {
  const columns = mergedColumns(load, staging)
  const rows = buildTableMergeQuery(load, records, staging, live)
  const merged = randomUUID()
  const name = `merged_${merged}`
  const place = qualified(load.database, name)
  await execute(access.service, createTable(place, columns, { ...load.mark, load: merged }))
  const uuid = await uuidOf(access, load.database, name)
  const list = columns.map((column) => quoted(column.name)).join(', ')
  await execute(access.load, `insert into ${place} (${list}) ${rows}`, {
    signal,
    settings: { ...joining, insert_deduplicate: 0, max_execution_time: maxStatementSeconds },
  })
  return { load: merged, uuid }
}
