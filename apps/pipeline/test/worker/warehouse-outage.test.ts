import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { startStack, type Stack } from './worker-stack.ts'
import { finished } from './large-load.ts'
import { spawnWorker } from './worker-process.ts'
import { until } from '@sluice/testing/wait-until'

let stack: Stack
beforeAll(async () => {
  stack = await startStack()
})
afterAll(() => stack?.[Symbol.asyncDispose]())

it('a run is requeued while its warehouse is unavailable, and succeeds when it is back', async () => {
  const pipeline = await stack.pipeline()
  const run = await stack.run(pipeline, await stack.upload(pipeline, 'id,name\n1,Oslo\n'))
  const away = { ...stack.environment, WAREHOUSE_DATABASE_URL: 'postgres://nobody:nothing@127.0.0.1:1/none' }
  {
    await using _worker = await spawnWorker(away)
    const waiting = await until(async () => {
      const state = await stack.state(run)
      return state.handed_back > 0 && state
    })
    expect(waiting).toMatchObject({ state: 'QUEUED', attempt: 1, handed_back: 1, error_code: 'WAREHOUSE_UNAVAILABLE' })
  }
  await using _back = await spawnWorker(stack.environment)
  expect(await finished(stack, run)).toMatchObject({ state: 'OK', attempt: 2, rows_written: 1, error_code: null })
})
