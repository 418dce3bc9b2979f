import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { count, finished } from './large-load.ts'
import { startStack, type Stack } from './worker-stack.ts'
import { spawnWorker } from './worker-process.ts'
import { until } from '@sluice/testing/wait-until'

let stack: Stack
beforeAll(async () => void (stack = await startStack()))
afterAll(() => stack?.[Symbol.asyncDispose]())

it('a worker starts a due pipeline, and loads an uploaded file in mode FULL despite continuous updates', async () => {
  const pipeline = await stack.pipeline()
  await stack.upload(pipeline, 'id,name\n1,Oslo\n2,Bergen\n')
  await stack.db
    .updateTable('data_pipelines')
    .set({ continuously_updated: true, continuous_update_interval: 60 })
    .where('id', '=', pipeline.id)
    .execute()
  await stack.db
    .updateTable('runnables')
    .set({ planned: true, zone: 'UTC', next_run_at: sql`now() - interval '1 second'` })
    .where('id', '=', pipeline.id)
    .execute()
  await using _worker = await spawnWorker(stack.environment)
  const asked = await until(() =>
    stack.db.selectFrom('runs').selectAll().where('runnable_id', '=', pipeline.id).executeTakeFirst(),
  )
  expect(asked).toMatchObject({ trigger: 'SCHEDULE', mode: 'FULL', created_by: null })
  expect(await finished(stack, asked)).toMatchObject({ state: 'OK', rows_written: 2 })
  await using client = await stack.inside(pipeline.client)
  expect(await count(client, pipeline)).toBe(2)
})
