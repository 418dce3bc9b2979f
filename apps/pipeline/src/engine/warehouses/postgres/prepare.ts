import { escapeIdentifier, type ClientBase } from 'pg'
import { withClient } from './access.ts'
import { gone, type Pools, type PostgresLoad } from './load.ts'
import { qualified } from './names.ts'
import { warehouseProblem } from './problems.ts'
import { readShape, type Shape } from './shape.ts'

/**
 * Statistics are taken from 300 rows for each unit of this setting. Of 100, as usual, they would take longer than to copy
 * 10 MB, and dirty 30,000 pages of a large table. So there are few from the rows, which autovacuum looks at again soon,
 * and more from the table, which it never does.
 */
const sample = (target: number) => `set local default_statistics_target = ${target}`

/** Rows up to which a sample is all of them. */
const few = 3_000

/** What takes long happens before anyone is kept waiting: the key's index, and the numbers the planner needs. */
export async function prepare({ transactions }: Pools, load: PostgresLoad, signal: AbortSignal): Promise<void> {
  if (!load.written) throw new Error('A load is published after it is written.')
  const staging = qualified('sluice', load.stagingTable)
  try {
    await withClient(transactions, signal, async (client) => {
      const shape = await readShape(client, 'sluice', load.stagingTable)
      if (!shape) throw gone(load)
      const keys = missingKey(load, shape)
      if (keys.length > 0) await client.query(`alter table ${staging} add primary key (${keys.join(', ')})`)
      await analyze(client, load, staging, shape)
    })
  } catch (error) {
    if (signal.aborted) throw error
    if ((error as { code?: string }).code === '42P01') throw gone(load)
    throw warehouseProblem(error, load.scene)
  }
}

/** None where a transformation made one already, or took one of its columns away. */
function missingKey({ keys }: PostgresLoad, { columns }: Shape): string[] {
  const there = columns.filter(({ name }) => keys.includes(name))
  if (there.length < keys.length || columns.some(({ primaryKey }) => primaryKey)) return []
  return keys.map((name) => escapeIdentifier(name))
}

/**
 * With a list of columns PostgreSQL does not count the table as analysed, so its own autovacuum comes by later for the
 * full statistics.
 */
async function analyze(client: ClientBase, load: PostgresLoad, staging: string, shape: Shape): Promise<void> {
  if (rowsOf(load) <= few) await client.query(`analyze ${staging}`)
  else {
    const columns = shape.columns.map(({ name }) => escapeIdentifier(name)).join(', ')
    await client.query(`begin; ${sample(10)}; analyze ${staging} (${columns}); commit`)
  }
}

function rowsOf({ written, carried }: PostgresLoad): number {
  return written!.rows + (carried?.rows ?? 0)
}

/**
 * Statistics of the table itself, which joins need and autovacuum never takes, once its rows are public. Never throws:
 * missing ones come with the next load. Before PostgreSQL 18 the partition cannot be left out.
 */
export function analyzeParent(pools: Pools, load: PostgresLoad): Promise<void> {
  return analyzeTable(pools, qualified(load.target.schema, load.target.table), rowsOf(load))
}

/** The same of a table by its quoted name. */
export async function analyzeTable({ statements }: Pools, table: string, rows = Infinity): Promise<void> {
  const smaller = rows <= few ? '' : `${sample(30)}; `
  const run = (only: string) =>
    withClient(statements, undefined, (client) =>
      client.query(`begin; ${smaller}analyze (skip_locked) ${only}${table}; commit`),
    )
  await run('only ')
    .catch((error: { code?: string }) => (error.code === '42601' ? run('') : undefined))
    .catch(() => {})
}
