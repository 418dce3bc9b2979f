import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { cancelRun } from '../../src/run-lifecycle/cancel-run.ts'
import { runTransaction } from '../../src/runs/run-transaction.ts'
import { finished } from '../worker/large-load.ts'
import { startStack, type Stack } from '../worker/worker-stack.ts'
import { until } from '@sluice/testing/wait-until'
import { ask, type Loaded, loadedPipelines, numbered, seen, sprung, trapped } from './pipelines-with-data.ts'

let stack: Stack
let scene: Loaded
beforeAll(async () => {
  stack = await startStack()
  ;[scene] = (await loadedPipelines(stack, 1)) as [Loaded]
})
afterAll(async () => {
  await scene?.client.end()
  await stack?.[Symbol.asyncDispose]()
})

it('a run can be cancelled while its worker is suspended in a transaction, and the worker resumes later', async () => {
  await using worker = await trapped(stack, 'in-copy:stop@1,giving-back:stop@1')
  const run = await ask(stack, scene.pipeline, numbered(2))
  await sprung(worker, 'in-copy')
  await scene.client.query(
    'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
  )
  worker.signal('SIGCONT')
  // Without its warehouse it gives the run back, and holds its row by now.
  await sprung(worker, 'giving-back')
  const cancelled = await runTransaction(stack.db, (trx) => cancelRun(trx, stack.queue, scene.pipeline.id))
  expect(cancelled).toMatchObject({ id: run.id, state: 'CANCELLED' })
  worker.signal('SIGCONT')
  await until(() => worker.output().includes('the end of an attempt could not be written'))
  await until(async () => (await seen(stack, scene, run)).jobs === 0)
  expect(await seen(stack, scene, run)).toMatchObject({ state: 'CANCELLED', attempt: 1, holds: [1], publications: 0 })
  const next = await ask(stack, scene.pipeline, numbered(3, 30))
  expect(await finished(stack, next)).toMatchObject({ state: 'OK', attempt: 1 })
})
