import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { longRunOnly } from '@sluice/testing/long-test-runs'
import { describeUnless } from '@sluice/testing/skip-tests'
import { cancelRun } from '../../src/run-lifecycle/cancel-run.ts'
import { runTransaction } from '../../src/runs/run-transaction.ts'
import { startStack, type Stack } from '../worker/worker-stack.ts'
import { spawnWorker } from '../worker/worker-process.ts'
import { until } from '@sluice/testing/wait-until'
import {
  ask,
  jobs,
  type Loaded,
  loadedPipelines,
  numbered,
  seen,
  silentForLong,
  sprung,
  trapped,
} from './pipelines-with-data.ts'

let stack: Stack
let scenes: Loaded[]
beforeAll(async () => {
  stack = await startStack({ heartbeatSeconds: 10 })
  scenes = await loadedPipelines(stack, 3)
})
afterAll(async () => {
  for (const { client } of scenes ?? []) await client.end()
  await stack?.[Symbol.asyncDispose]()
})

describeUnless(longRunOnly)('publication of a worker that is suspended and resumes', () => {
  it('makes the run OK even if another worker claims it after the limit of attempts', async () => {
    const scene = scenes[0]!
    const run = await ask(stack, scene.pipeline, numbered(2, 20))
    await stack.db.updateTable('runs').set({ attempt: 4 }).where('id', '=', run.id).execute()
    await using stopped = await trapped(stack, 'in-publication:stop@1')
    await sprung(stopped, 'in-publication')
    await silentForLong(stack, run)
    await using other = await spawnWorker({ ...stack.environment, LOG_LEVEL: 'debug' })
    await until(() => /"attempt":6,"msg":"a run was claimed"/.test(other.output()))
    await sleep(1_000)
    stopped.signal('SIGCONT')
    await until(() => stopped.output().includes('"ending":"LOST"'))
    await until(async () => (await jobs(stack, run)) === 0)
    expect(await seen(stack, scene, run)).toMatchObject({
      state: 'OK',
      rows_written: 20,
      holds: [2],
      publications: 1,
    })
  })

  it('makes the run OK if the run was cancelled and the worker is killed after the commit', async () => {
    const scene = scenes[1]!
    const run = await ask(stack, scene.pipeline, numbered(2, 20))
    await using stopped = await trapped(stack, 'in-publication:stop@1,published:exit@1')
    await sprung(stopped, 'in-publication')
    await runTransaction(stack.db, (trx) => cancelRun(trx, stack.queue, scene.pipeline.id))
    await silentForLong(stack, run)
    await using other = await spawnWorker({ ...stack.environment, LOG_LEVEL: 'debug' })
    await until(async () => (await waiting(scene)) > 0 || (await jobs(stack, run)) === 0)
    stopped.signal('SIGCONT')
    await stopped.ended
    await until(async () => (await jobs(stack, run)) === 0)
    expect(await seen(stack, scene, run)).toMatchObject({ state: 'OK', holds: [2], publications: 1 })
    expect(other.output()).not.toContain('a run was claimed')
  })

  it('makes the run OK if the run was cancelled and the worker gets an error after the commit', async () => {
    const scene = scenes[2]!
    const run = await ask(stack, scene.pipeline, numbered(2, 20))
    // Its pulse notices the cancellation before the publication fails behind its commit.
    await using stopped = await trapped(stack, 'published:stop@1,published:sleep:3000,published:throw@1')
    await sprung(stopped, 'published')
    await runTransaction(stack.db, (trx) => cancelRun(trx, stack.queue, scene.pipeline.id))
    stopped.signal('SIGCONT')
    await until(() => stopped.output().includes('"ending":"LOST"'))
    await until(async () => (await jobs(stack, run)) === 0)
    expect(await seen(stack, scene, run)).toMatchObject({ state: 'OK', attempt: 1, holds: [2], publications: 1 })
  })
})

/** Sessions of the warehouse that wait for another one. */
async function waiting({ client }: Loaded): Promise<number> {
  const { rows } = await client.query(
    `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  )
  return rows.length
}
