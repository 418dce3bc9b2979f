import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { publications, finished } from '../worker/large-load.ts'
import { startStack, type Stack } from '../worker/worker-stack.ts'
import { spawnWorker } from '../worker/worker-process.ts'
import { begin, jobStates, makeWorkflow } from '../worker/workflow-fixtures.ts'
import { age, hurry } from './random/worker-fleet.ts'
import { watchOver } from './random/kill-at-random.ts'
import { numbered, takenBy, trapped } from './pipelines-with-data.ts'

/** Where one worker after the other is killed while it does the jobs of one workflow of three steps. */
const deaths = [
  ['before-status', 'a job is loaded, and nobody has said so'],
  ['workflow-advanced', 'its end and the beginning of what comes next are written, not committed'],
  ['status-written', 'both are committed'],
  ['claimed', 'a job was begun'],
  ['workflow-advanced', 'another end is not committed'],
  ['before-status', 'the last job is loaded'],
  ['workflow-advanced', 'the end of the workflow itself is not committed'],
] as const

let stack: Stack
beforeAll(async () => {
  stack = await startStack({ heartbeatSeconds: 10 })
})
afterAll(() => stack?.[Symbol.asyncDispose]())

describe('workflow whose workers are killed', () => {
  it('continues where it was, and publishes each job exactly once', async () => {
    await using _watch = await watchOver(stack)
    const first = await stack.pipeline()
    const others = await Promise.all([1, 2, 3].map(() => stack.pipeline(first.client)))
    const pipelines = [first, ...others]
    for (const pipeline of pipelines) await stack.upload(pipeline, numbered(1, 100))
    const [one, two, three, four] = pipelines.map(({ id }) => id) as [number, number, number, number]
    const steps = [{ jobs: [one] }, { mode: 'PARALLEL' as const, jobs: [two, three] }, { jobs: [four] }]
    const run = await begin(stack, await makeWorkflow(stack, first.client, steps))

    // What the queue keeps back for later is taken at once.
    const hurrying = setInterval(() => void hurry(stack).catch(() => {}), 200)
    for (const [point, when] of deaths) {
      const worker = await trapped(stack, `${point}:exit`)
      expect([when, await worker.ended]).toEqual([when, 'SIGKILL'])
      expect([when, (await stack.state(run)).state]).toEqual([when, 'RUNNING'])
      await age(stack, takenBy(worker))
    }
    await using _last = await spawnWorker(stack.environment)
    await finished(stack, run)
    clearInterval(hurrying)

    expect(await jobStates(stack, run)).toEqual([['OK'], ['OK', 'OK'], ['OK']])
    expect(await stack.state(run)).toMatchObject({ state: 'OK', attempt: 1, message: '4 jobs ended well.' })
    const { db } = stack
    const runs = await db.selectFrom('runs').selectAll().where('workflow_run_id', '=', run.id).orderBy('id').execute()
    expect(runs.map(({ runnable_id }) => runnable_id)).toEqual([one, two, three, four])
    await using warehouse = await stack.inside(first.client)
    for (const child of runs) expect(await publications(warehouse, child)).toBe(1)
    const [ended, begun] = [runs.map((one) => one.finished_at!.getTime()), runs.map((one) => one.created_at.getTime())]
    expect(Math.min(begun[1]!, begun[2]!)).toBeGreaterThanOrEqual(ended[0]!)
    expect(begun[3]!).toBeGreaterThanOrEqual(Math.max(ended[1]!, ended[2]!))
    expect(runs.reduce((sum, { attempt }) => sum + attempt, 0)).toBeGreaterThan(runs.length + 3)
  })
})
