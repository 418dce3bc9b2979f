import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { connect } from '@sluice/database'
import { createLogger, Redaction } from '@sluice/process'
import { sql } from 'kysely'
import type { DB } from '../../src/database.ts'
import { openQueue } from '../../src/queue/pg-boss-queue.ts'
import { createRun } from '../../src/runs/queue-run.ts'
import { queueMissingRuns } from '../../src/worker/maintenance/queue-missing-runs.ts'
import { finished } from '../worker/large-load.ts'
import { startStack, type Stack } from '../worker/worker-stack.ts'
import { spawnWorker } from '../worker/worker-process.ts'
import { until } from '@sluice/testing/wait-until'
import { never } from '@sluice/warehouses/testing/row-fixtures'
import {
  ask,
  type Loaded,
  loadedPipelines,
  numbered,
  seen,
  silentForLong,
  sprung,
  takenBy,
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

const logger = createLogger({ name: 'test', level: 'silent', redaction: new Redaction() })

/** Another process of the service, with connections of its own. */
async function another() {
  const { db } = connect<DB>(stack.environment['PIPELINE_DATABASE_URL']!, { name: 'another' })
  const queue = await openQueue(db, logger)
  return {
    db,
    queue,
    async [Symbol.asyncDispose]() {
      await queue[Symbol.asyncDispose]()
      await db.destroy()
    },
  }
}

describe('concurrent processes', () => {
  it('create one run from ten simultaneous requests, and one of two workers executes it once', async () => {
    const { pipeline } = scenes[0]!
    await using one = await another()
    await using other = await another()
    await using first = await trapped(stack, 'in-copy:sleep:100')
    await using second = await trapped(stack, 'in-copy:sleep:100')
    const input = (await stack.upload(pipeline, numbered(2))) as never
    const request = {
      runnableId: pipeline.id,
      client: pipeline.client,
      trigger: 'MANUAL',
      createdBy: null,
      input,
    } as const
    const click = ({ db, queue }: Pick<Stack, 'db' | 'queue'>) =>
      db.transaction().execute((trx) => createRun(trx, queue, request))
    const clicks = await Promise.all(Array.from({ length: 10 }, (_, index) => click(index % 2 ? one : other)))
    expect(new Set(clicks.map(({ run }) => run.uid)).size).toBe(1)
    expect(clicks.filter(({ existing }) => !existing)).toHaveLength(1)
    const { run } = clicks[0]!
    await finished(stack, run)
    expect([...takenBy(first), ...takenBy(second)]).toEqual([run.uid])
    await until(async () => (await seen(stack, scenes[0]!, run)).jobs === 0)
    expect(await seen(stack, scenes[0]!, run)).toMatchObject({ state: 'OK', attempt: 1, holds: [2], publications: 1 })
  })

  it('publish a run once when two workers hold it, and drop the staging table of the stale attempt', async () => {
    const scene = scenes[1]!
    await using first = await trapped(stack, 'copied:sleep:12000')
    const run = await ask(stack, scene.pipeline, numbered(2))
    await until(async () => (await seen(stack, scene, run)).staging === 1)
    await using _second = await spawnWorker(stack.environment)
    // The first one lives, and says so every five seconds.
    const takenOver = async () => {
      await silentForLong(stack, run)
      return (await stack.state(run)).attempt > 1
    }
    await until(takenOver, { every: 200 })
    await finished(stack, run)
    await until(() => first.output().includes('"ending":"LOST"'))
    await until(async () => (await seen(stack, scene, run)).jobs === 0)
    const there = await seen(stack, scene, run)
    expect(there).toMatchObject({ state: 'OK', holds: [2], rows: 20_000, publications: 1, staging: 0 })
    expect(there.attempt).toBeGreaterThan(1)
  })

  it('requeue a run that is missing in the queue only once', async () => {
    const scene = scenes[2]!
    const run = await ask(stack, scene.pipeline, numbered(2))
    await sql`delete from pgboss.job where data ->> 'run' = ${run.uid}`.execute(stack.db)
    const old = sql<Date>`now() - interval '5 minutes'`
    await stack.db.updateTable('runs').set({ created_at: old }).where('id', '=', run.id).execute()
    await using one = await another()
    await using other = await another()
    const sent = await Promise.all([one, other, one, other].map((each) => queueMissingRuns(each).run(never)))
    expect(sent.reduce((sum, each) => sum + each, 0)).toBe(1)
    await using worker = await trapped(stack, 'published:exit')
    await sprung(worker, 'published')
    await worker.ended
    expect(await seen(stack, scene, run)).toMatchObject({ holds: [2], publications: 1, attempt: 1 })
  })
})
