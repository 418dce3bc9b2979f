import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { isLongRun, longRunOnly } from '@sluice/testing/long-test-runs'
import { itUnless } from '@sluice/testing/skip-tests'
import type { Client } from 'pg'
import type { Failpoint } from '@sluice/process'
import { cancelRun } from '../../src/run-lifecycle/cancel-run.ts'
import { stagingTables } from '../worker/large-load.ts'
import { startStack, type Stack } from '../worker/worker-stack.ts'
import { until } from '@sluice/testing/wait-until'
import { ask, type Loaded, loadedPipelines, logOf, numbered, seen, sprung, trapped } from './pipelines-with-data.ts'

let stack: Stack
let scenes: Loaded[]
beforeAll(async () => {
  stack = await startStack()
  scenes = await loadedPipelines(stack, 4)
})
afterAll(async () => {
  for (const { client } of scenes ?? []) await client.end()
  await stack?.[Symbol.asyncDispose]()
})

const cancel = ({ pipeline }: Loaded) =>
  stack.db.transaction().execute((trx) => cancelRun(trx, stack.queue, pipeline.id))
const untouched = { state: 'CANCELLED', attempt: 1, holds: [1], rows: 2, publications: 0, staging: 0, jobs: 0 }

/** Connections of workers to this warehouse that are at work. */
async function working(client: Client): Promise<number> {
  const { rows } = await client.query(
    `select from pg_stat_activity where datname = current_database() and application_name = 'sluice' and state <> 'idle'`,
  )
  return rows.length
}

/** Cancels, and waits until nothing of the run goes on. By itself none of it would end within the test's time. */
async function cancelAndClear(scene: Loaded, run: { id: number; uid: string }): Promise<void> {
  expect(await cancel(scene)).toMatchObject({ uid: run.uid, state: 'CANCELLED' })
  await until(async () => (await stagingTables(scene.client, run)) === 0 && (await working(scene.client)) === 0)
  await until(async () => (await seen(stack, scene, run)).jobs === 0)
}

describe('cancelled run', () => {
  it('stops and keeps the old rows when cancelled during COPY', async () => {
    const scene = scenes[0]!
    await using worker = await trapped(stack, 'in-copy:hang@2')
    const run = await ask(stack, scene.pipeline, numbered(2))
    await sprung(worker, 'in-copy')
    await cancelAndClear(scene, run)
    expect(await seen(stack, scene, run)).toMatchObject(untouched)
  })

  it('stops its SQL statement when cancelled during the transformation', async () => {
    const scene = scenes[1]!
    const transformation = JSON.stringify({ sqlStatements: [{ statement: 'select pg_sleep(600)' }] })
    await stack.db
      .updateTable('data_pipelines')
      .set({ transformation: transformation as never })
      .where('id', '=', scene.pipeline.id)
      .execute()
    await using _worker = await trapped(stack, 'claimed:sleep:0')
    const run = await ask(stack, scene.pipeline, numbered(2))
    const sleeping = `select from pg_stat_activity where query like '%pg_sleep(600)%' and pid <> pg_backend_pid()`
    await until(async () => (await scene.client.query(sleeping)).rowCount)
    await cancelAndClear(scene, run)
    expect(await seen(stack, scene, run)).toMatchObject(untouched)
    expect((await scene.client.query(sleeping)).rowCount).toBe(0)
  })

  itUnless(longRunOnly)('does not publish its staged rows when cancelled before the swap', async () => {
    const scene = scenes[2]!
    await using worker = await trapped(stack, 'before-swap:stop')
    const run = await ask(stack, scene.pipeline, numbered(2))
    await sprung(worker, 'before-swap')
    expect(await cancel(scene)).toMatchObject({ state: 'CANCELLED' })
    worker.signal('SIGCONT')
    await until(() => worker.output().includes('"ending":"LOST"'))
    await until(async () => (await seen(stack, scene, run)).jobs === 0)
    expect(await seen(stack, scene, run)).toMatchObject(untouched)
    expect(await logOf(stack, run)).toMatch(/Attempt 1 no longer owns run|The run was cancelled/)
  })

  it.each<Failpoint>(isLongRun ? ['in-publication', 'published'] : ['in-publication'])(
    'ends as OK when cancelled after its publication has started (%s)',
    async (point) => {
      const scene = scenes[3]!
      await using worker = await trapped(stack, `${point}:stop@1`)
      const run = await ask(stack, scene.pipeline, numbered(2))
      await sprung(worker, point)
      expect(await cancel(scene)).toMatchObject({ state: 'CANCELLED' })
      worker.signal('SIGCONT')
      await until(async () => (await stack.state(run)).state === 'OK')
      await until(async () => (await seen(stack, scene, run)).jobs === 0)
      expect(await seen(stack, scene, run)).toMatchObject({ holds: [2], rows: 20_000, publications: 1, staging: 0 })
    },
  )
})
