import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { isLongRun } from '@sluice/testing/long-test-runs'
import { sql } from 'kysely'
import type { Failpoint } from '@sluice/process'
import { createRun } from '../../src/runs/queue-run.ts'
import { startStack, type Stack } from '../worker/worker-stack.ts'
import { spawnWorker } from '../worker/worker-process.ts'
import { until } from '@sluice/testing/wait-until'
import { hurry } from './random/worker-fleet.ts'
import { jobs, type Loaded, loadedPipelines, sprung, trapped } from './pipelines-with-data.ts'

let stack: Stack
let scene: Loaded
beforeAll(async () => {
  stack = await startStack({ heartbeatSeconds: 10 })
  ;[scene] = (await loadedPipelines(stack, 1)) as [Loaded]
})
afterAll(async () => {
  await scene?.client.end()
  await stack?.[Symbol.asyncDispose]()
})

const query = 'select row * 10 as tens from cases'

async function savedView(name: string, materialized: boolean): Promise<{ id: number; name: string }> {
  const { client } = scene.pipeline
  const { id: schema_id } = await stack.db
    .selectFrom('schemas')
    .select('id')
    .where('schema_name', '=', scene.pipeline.schema)
    .executeTakeFirstOrThrow()
  const values = { client, name, schema_id, view_name: name, query, materialized, disabled: false }
  const { id } = await stack.db
    .insertInto('views')
    .values({ ...values, run_trigger: 'NEVER' })
    .returning('id')
    .executeTakeFirstOrThrow()
  return { id, name }
}

const asked = async ({ id: runnableId }: { id: number }) => {
  const request = { runnableId, client: scene.pipeline.client, trigger: 'MANUAL' as const, createdBy: null, input: {} }
  return (await stack.db.transaction().execute((trx) => createRun(trx, stack.queue, request))).run
}

type Run = Awaited<ReturnType<typeof asked>>

/** A run whose worker is killed at that point. To the queue it seems to live, until it is rescued. */
async function killedAt(point: Failpoint, view: { id: number }): Promise<Run> {
  const worker = await trapped(stack, `${point}:exit`)
  const run = await asked(view)
  await sprung(worker, point)
  await worker.ended
  await sql`update pgboss.job set heartbeat_on = now() + interval '1 hour' where data ->> 'run' = ${run.uid}`.execute(
    stack.db,
  )
  expect(await stack.state(run)).toMatchObject({ state: 'RUNNING', attempt: 1 })
  return run
}

/** Another worker takes them up, and ends them. */
async function rescued(runs: readonly Run[]): Promise<void> {
  await using _worker = await spawnWorker(stack.environment)
  await sql`
    update pgboss.job set heartbeat_on = now() - interval '1 hour'
    where state = 'active' and data ->> 'run' = any(${runs.map(({ uid }) => uid)}::text[])`.execute(stack.db)
  await until(async () => {
    await hurry(stack)
    return (await Promise.all(runs.map(stack.state))).every(({ finished_at: finished }) => finished)
  })
  // Its job goes a moment after its end is written.
  for (const run of runs) await until(async () => (await jobs(stack, run)) === 0)
}

const tens = async ({ name }: { name: string }) =>
  (await scene.client.query(`select tens::int from ${scene.pipeline.schema}.${name} order by 1`)).rows.map(
    (row) => row.tens,
  )
const kept = async ({ id }: { id: number }) => {
  const view = await stack.db.selectFrom('views').select('filled_at').where('id', '=', id).executeTakeFirstOrThrow()
  const sources = await stack.db.selectFrom('view_sources').selectAll().where('view_id', '=', id).execute()
  return { filled: view.filled_at, reads: sources.map(({ relation_name: name }) => name) }
}
/** Relations of the client under the names that something has only in passing, and statements that still run. */
const leftovers = async () =>
  (
    await scene.client.query(`
      select relname as name from pg_class where relname like 'sluice\\_%' or relname like 'pg\\_temp\\_%'
      union all
      select query from pg_stat_activity
      where datname = current_database() and application_name = 'sluice' and state <> 'idle'`)
  ).rows

type Case = [name: string, materialized: boolean, point: Failpoint]
const filled: Case = ['filled', true, 'view-filled']
const cases: Case[] = isLongRun
  ? [['made', true, 'view-made'], ['made_plain', false, 'view-made'], filled, ['unsaid', true, 'before-status']]
  : [filled]

describe('view whose worker is killed after the commit in the warehouse', () => {
  const views = new Map<string, { id: number; name: string }>()
  const runs = new Map<string, Run>()
  beforeAll(async () => {
    for (const [name, materialized, point] of cases) {
      const view = await savedView(name, materialized)
      views.set(name, view)
      runs.set(name, await killedAt(point, view))
    }
    await rescued([...runs.values()])
  })

  it.each(cases)('exists once, with its sources recorded: %s (materialised: %s), at %s', async (name, materialized) => {
    const view = views.get(name)!
    expect(await stack.state(runs.get(name)!)).toMatchObject({ state: 'OK', attempt: 2, error_code: null })
    expect(await kept(view)).toEqual({ filled: materialized ? expect.any(Date) : null, reads: ['cases'] })
    expect([await tens(view), await leftovers()]).toEqual([[0, 10], []])
  })

  it('has the new rows and a new fill time if it existed before', async () => {
    const view = views.get('filled')!
    const before = await kept(view)
    const table = `${scene.pipeline.schema}.${scene.pipeline.table}`
    await scene.client.query(`insert into ${table} select run, 2, name from ${table} limit 1`)
    const run = await killedAt('view-filled', view)
    // The view has its rows, but the time of the refresh is not stored yet.
    expect([await tens(view), await kept(view)]).toEqual([[0, 10, 20], before])
    await rescued([run])
    expect(await stack.state(run)).toMatchObject({ state: 'OK', attempt: 2 })
    const after = await kept(view)
    expect(after.filled!.getTime()).toBeGreaterThan(before.filled!.getTime())
    expect([after.reads, await tens(view), await leftovers()]).toEqual([['cases'], [0, 10, 20], []])
  })
})
