import { type ClientBase, escapeIdentifier, escapeLiteral } from 'pg'
import { type PostgresPools, withClient } from '../postgres-connections.ts'

/** The columns of a table, its key, and its number of rows. */
interface TableToAnalyze {
  columns: readonly { name: string }[]
  keys: readonly string[]
  rows: number
}

/** ANALYZE samples this many rows per unit of the statistics target. */
const rowsPerTarget = 300
/** Cells of a sample that take about 30 ms, which a small load can afford. */
const smallSampleCells = 30_000
/** A large load can afford a sample of 1 % of its rows, and needs at most 6,000 rows. */
const sampledShare = 0.01
const maxTarget = 20
/** Columns with statistics besides the key. */
const maxSampledColumns = smallSampleCells / rowsPerTarget

/**
 * Collects the planner's statistics of a table that is not published yet, in a time that does not grow with its columns. Unless all
 * cells fit into the sample, the statement lists the columns: then PostgreSQL does not count the table as analysed, and autovacuum soon
 * collects full statistics.
 */
export async function collectStatistics(client: ClientBase, table: string, content: TableToAnalyze): Promise<void> {
  const { columns, keys, rows } = content
  if (columns.length * rows <= smallSampleCells)
    await client.query(`set local synchronous_commit = off; analyze ${table}`)
  else {
    const names = columns.map(({ name }) => name)
    const sampledNames = [
      ...new Set([...keys.filter((key) => names.includes(key)), ...names.slice(0, maxSampledColumns)]),
    ]
    const target = statisticsTarget(sampledNames.length, rows)
    const list = sampledNames.map((name) => escapeIdentifier(name)).join(', ')
    await client.query(`begin; set local default_statistics_target = ${target}; analyze ${table} (${list}); commit`)
  }
}

/** The default target of 100 would take longer than copying 10 MB, and would dirty 30,000 pages of a large table. */
function statisticsTarget(columns: number, rows: number): number {
  const sampledRows = Math.max(smallSampleCells / columns, rows * sampledShare)
  return Math.max(1, Math.min(maxTarget, Math.floor(sampledRows / rowsPerTarget)))
}

/** The names of statistics in `pg_stats` and in `pg_restore_attribute_stats`, with the types that the function expects. */
const statisticsTypes = {
  null_frac: 'real',
  avg_width: 'integer',
  n_distinct: 'real',
  most_common_vals: 'text',
  most_common_freqs: 'real[]',
  histogram_bounds: 'text',
  correlation: 'real',
  most_common_elems: 'text',
  most_common_elem_freqs: 'real[]',
  elem_count_histogram: 'real[]',
}

/**
 * Copies the statistics of the only partition to its parent table: joins need them, autovacuum never collects them, and a sample of the
 * parent would contain the same rows. Never throws, because the next load copies them again.
 */
export async function copyStatistics(
  { statements }: PostgresPools,
  { schema, table, partition }: { schema: string; table: string; partition: string },
): Promise<void> {
  const [schemaName, tableName] = [escapeLiteral(schema), escapeLiteral(table)]
  const values = Object.entries(statisticsTypes).map(([name, type]) => `'${name}', ${name}::text::${type}`)
  const sql = [
    `begin; set local synchronous_commit = off; set local lock_timeout = '2s'`,
    `select pg_clear_attribute_stats(${schemaName}, ${tableName}, attname::text, true) from pg_stats
     where schemaname = ${schemaName} and tablename = ${tableName} and inherited`,
    `select pg_restore_attribute_stats('schemaname', ${schemaName}, 'relname', ${tableName}, 'attname', attname::text,
       'inherited', true, ${values.join(', ')})
     from pg_stats where schemaname = 'sluice' and tablename = ${escapeLiteral(partition)} and not inherited`,
    'commit',
  ].join(';')
  await withClient(statements, undefined, (client) => client.query(sql)).catch(() => {})
}
