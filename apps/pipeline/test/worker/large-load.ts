import type { Client } from 'pg'
import type { Pipeline, Stack } from './worker-stack.ts'
import { until } from '@sluice/testing/wait-until'

/** Takes a second or two to load: long enough to break in. */
export const manyRows = 500_000

let large: Buffer | undefined

export function largeFile(): Buffer {
  return (large ??= Buffer.from(
    `id,name\n${Array.from({ length: manyRows }, (_, index) => `${index},a name that is long enough ${index}\n`).join('')}`,
  ))
}

/** A pipeline whose table holds two rows, and a run of a large file that is now in the middle of its COPY. */
export async function inTheMiddle(stack: Stack) {
  const pipeline = await stack.pipeline()
  const first = await stack.run(pipeline, await stack.upload(pipeline, 'id,name\n1,Oslo\n2,Bergen\n'))
  await finished(stack, first)
  const run = await stack.run(pipeline, await stack.upload(pipeline, largeFile()))
  const client = await stack.inside(pipeline.client)
  await until(async () => {
    const { finished_at: over } = await stack.state(run)
    if (over) throw new Error('The load was over before it was seen in the middle of its COPY.')
    return copying(client)
  })
  return { pipeline, run, client }
}

export async function finished(stack: Stack, run: { id: number }) {
  return until(async () => {
    const state = await stack.state(run)
    return state.finished_at && state
  })
}

async function copying(client: Client): Promise<boolean> {
  const { rows } = await client.query(
    'select from pg_stat_progress_copy where datname = current_database() and tuples_processed > 1000',
  )
  return rows.length > 0
}

export async function count(client: Client, { schema, table }: Pipeline): Promise<number> {
  const { rows } = await client.query(`select count(*)::int as count from ${schema}.${table}`)
  return rows[0].count
}

/** How often the run was published: the rows of the ledger. */
export async function publications(client: Client, { uid }: { uid: string }): Promise<number> {
  const { rows } = await client.query('select from sluice.ledger where run::text = $1', [uid])
  return rows.length
}

/**
 * Lists the staging tables in the client's warehouse, or those of one run. Omits retained ones. A transformation has
 * its staging tables in a schema of their own.
 */
export async function stagingTables(client: Client, { uid = '' } = {}): Promise<number> {
  const { rows } = await client.query(
    `select from pg_class c join pg_namespace n on n.oid = relnamespace
     where relkind = 'r' and not relispartition
       and relname not in (select partition_name from sluice.kept_table where partition_name is not null)
       and (nspname = 'sluice' and starts_with(relname, $1) or starts_with(nspname, $2))`,
    [`run_${uid}`, `sluice_run_${uid}`],
  )
  return rows.length
}
