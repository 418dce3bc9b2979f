import { type ClientBase, escapeIdentifier, escapeLiteral } from 'pg'
import { type PostgresPools, withClient } from '../postgres-connections.ts'

interface TableToAnalyze {
  columns: readonly { name: string }[]
  /** The names of the key columns. */
  keys: readonly string[]
  rowCount: number
}

/** ANALYZE samples 300 rows for each unit of the statistics target. */
const rowsPerTarget = 300
/** The sample size, in cells (rows × columns), that takes about 30 ms. A small load can afford that. */
const smallSampleCells = 30_000
/** For a large load, ANALYZE samples 1 % of the rows, at most 6,000 (a target of 20). */
const sampledShare = 0.01
const maxTarget = 20
/** The maximum number of columns with statistics, in addition to the key. */
const maxSampledColumns = smallSampleCells / rowsPerTarget

/**
 * Collects planner statistics of a table that is not published yet, in a time that does not grow with its number of
 * columns. Analyses a small table completely. For a larger one, samples the key columns and the first 100 columns: the
 * statement lists these columns, so PostgreSQL does not count the table as analysed, and autovacuum soon collects full
 * statistics. `table` is quoted and qualified.
 */
export async function collectStatistics(
  client: ClientBase,
  table: string,
  { columns, keys, rowCount }: TableToAnalyze,
): Promise<void> {
  const isSmall = columns.length * rowCount <= smallSampleCells
  if (isSmall) {
    await client.query(`set local synchronous_commit = off; analyze ${table}`)
    return
  }
  const names = columns.map(({ name }) => name)
  const existingKeys = keys.filter((key) => names.includes(key))
  const sampledNames = [...new Set([...existingKeys, ...names.slice(0, maxSampledColumns)])]
  const sampledList = sampledNames.map((name) => escapeIdentifier(name)).join(', ')
  const target = statisticsTarget(sampledNames.length, rowCount)
  await client.query(
    `begin; set local default_statistics_target = ${target}; analyze ${table} (${sampledList}); commit`,
  )
}

/**
 * Returns the statistics target for a sample of this many columns. PostgreSQL's default of 100 would take longer than
 * copying 10 MB, and would dirty 30,000 pages of a large table.
 */
function statisticsTarget(columnCount: number, rowCount: number): number {
  const sampledRows = Math.max(smallSampleCells / columnCount, rowCount * sampledShare)
  const target = Math.floor(sampledRows / rowsPerTarget)
  return Math.max(1, Math.min(maxTarget, target))
}

/**
 * The columns of `pg_stats` that are copied, with the types that `pg_restore_attribute_stats` expects for its
 * arguments of the same names.
 */
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
 * Copies the planner statistics of the single partition to its parent table. Joins use the statistics of the parent,
 * which autovacuum never collects, and sampling the parent would read the same rows again. Never throws, because the
 * next load copies the statistics anyway.
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
