import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { cancelRun } from '../../src/engine/runs/cancel-run.ts'
import { runTransaction } from '../../src/engine/runs/run-transaction.ts'
import { startStack, type Stack } from '../engine/stack.ts'
import { ask, type Loaded, loadedPipelines, numbered, seen, sprung, trapped } from './scene.ts'

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

it('a worker that is stopped in the middle of a transaction keeps nobody from cancelling, and lives when it is woken', async () => {
  await using worker = await trapped(stack, 'in-copy:hang@1,giving-back:stop')
  const run = await ask(stack, scene.pipeline, numbered(2))
  await sprung(worker, 'in-copy')
  // Told to end, it gives its run back, and holds its row by now.
  worker.signal('SIGTERM')
  await sprung(worker, 'giving-back')
  const cancelled = await runTransaction(stack.db, (trx) => cancelRun(trx, stack.queue, scene.pipeline.id))
  expect(cancelled).toMatchObject({ id: run.id, state: 'CANCELLED' })
  worker.signal('SIGCONT')
  expect([await worker.ended, worker.output()]).toEqual([0, expect.not.stringContaining("Unhandled 'error' event")])
  expect(await seen(stack, scene, run)).toMatchObject({
    state: 'CANCELLED',
    handed_back: 0,
    holds: [1],
    publications: 0,
  })
})
