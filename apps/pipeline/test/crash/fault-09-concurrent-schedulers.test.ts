import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { runsOf } from '../worker/schedule-fixtures.ts'
import { startStack, type Stack } from '../worker/worker-stack.ts'
import { spawnWorker } from '../worker/worker-process.ts'
import { until } from '@sluice/testing/wait-until'
import { comeDue, midnightly, outcomes, waiting, withoutJob } from './due-schedules.ts'

let stack: Stack
beforeAll(async () => void (stack = await startStack({ heartbeatSeconds: 10 })))
afterAll(() => stack?.[Symbol.asyncDispose]())

describe('concurrent schedulers', () => {
  it('start one run per tick when three schedulers process the same ticks', async () => {
    const things = await midnightly(stack, 150)
    // The moments in which they could meet are long.
    const slow = { FAILPOINTS: 'schedule-locked:sleep:200,schedule-started:sleep:200', CLIENT_CONCURRENCY: '1' }
    await using workers = new AsyncDisposableStack()
    for (const _ of [1, 2, 3]) workers.use(await spawnWorker({ ...stack.environment, ...slow }))
    await comeDue(stack, things)
    await until(async () => (await waiting(stack, things)) === 0)
    expect(await outcomes(stack, things)).toEqual(things.map(({ id }) => ({ id, runs: 1, left_out: 0 })))
    expect(await withoutJob(stack, things)).toBe(0)
  })

  it('skip a tick while a manual run is under way, and note it in the log of that run', async () => {
    const [thing] = await midnightly(stack, 1)
    // The run is in progress, claimed by a worker that does not exist.
    const run = await stack.run({ ...thing!, schema: '', table: '' })
    await sql`delete from pgboss.job where data ->> 'run' = ${run.uid}`.execute(stack.db)
    await comeDue(stack, [thing!])
    await using _worker = await spawnWorker(stack.environment)
    await until(async () => (await waiting(stack, [thing!])) === 0)
    expect(await runsOf(stack, thing!)).toMatchObject([
      {
        trigger: 'MANUAL',
        said: [expect.stringMatching(/ 00:00 \(UTC\) was skipped, because this run had not ended yet\.$/)],
      },
    ])
  })
})
