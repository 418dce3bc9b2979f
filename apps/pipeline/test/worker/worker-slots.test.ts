import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { finished } from './large-load.ts'
import { type Pipeline, startStack, type Stack } from './worker-stack.ts'
import { spawnWorker } from './worker-process.ts'
import { until } from '@sluice/testing/wait-until'

let stack: Stack
beforeAll(async () => {
  stack = await startStack()
})
afterAll(() => stack?.[Symbol.asyncDispose]())

/** A pipeline whose runs sit in a worker for so many seconds. */
async function slow(client: string, seconds: number): Promise<Pipeline> {
  const pipeline = await stack.pipeline(client)
  const transformation = JSON.stringify({ sqlStatements: [{ statement: `select pg_sleep(${seconds})` }] })
  await stack.db.updateTable('data_pipelines').set({ transformation }).where('id', '=', pipeline.id).execute()
  return pipeline
}

describe('worker slots', () => {
  it('are not all used by one organisation, even if its concurrency limit is higher', async () => {
    const { client } = await stack.pipeline()
    const pipelines = await Promise.all(Array.from({ length: 4 }, () => slow(client, 120)))
    const runs: Awaited<ReturnType<Stack['run']>>[] = []
    for (const one of pipelines) runs.push(await stack.run(one, await stack.upload(one, 'a\n1\n')))
    await using _worker = await spawnWorker({
      ...stack.environment,
      WORKER_CONCURRENCY: '3',
      CLIENT_CONCURRENCY: '64',
    })
    const states = async () => Promise.all(runs.map(async (run) => (await stack.state(run)).state))
    await until(async () => (await states()).filter((state) => state === 'RUNNING').length === 2)
    const other = await stack.pipeline()
    const run = await finished(stack, await stack.run(other, await stack.upload(other, 'a\n1\n')))
    expect(run.state).toBe('OK')
    // The run of the other organisation has not waited for any of these.
    const { RUNNING, QUEUED } = Object.groupBy(await states(), (state) => state)
    expect([RUNNING?.length, QUEUED?.length]).toEqual([2, 2])
  })
})
