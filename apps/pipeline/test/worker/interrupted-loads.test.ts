import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { longRunOnly } from '@sluice/testing/long-test-runs'
import { itUnless } from '@sluice/testing/skip-tests'
import { sql } from 'kysely'
import { listLogs } from '../../src/runs/read-runs.ts'
import { count, finished, inTheMiddle, manyRows, publications, stagingTables } from './large-load.ts'
import { startStack, type Stack } from './worker-stack.ts'
import { spawnWorker, type WorkerProcess } from './worker-process.ts'
import { until } from '@sluice/testing/wait-until'

let stack: Stack
let worker: WorkerProcess

beforeAll(async () => {
  stack = await startStack()
})
afterAll(() => stack?.[Symbol.asyncDispose]())

describe('load in progress', () => {
  beforeEach(async () => {
    // With a rest in its middle: on a machine with much else to do it would be over before anybody can break in.
    worker = await spawnWorker({ ...stack.environment, FAILPOINTS: 'in-copy:sleep:4000@20' })
  })
  afterEach(() => worker?.[Symbol.asyncDispose]())

  it('is requeued when its worker receives SIGTERM, and is finished by the next worker', async () => {
    const { pipeline, run, client } = await inTheMiddle(stack)
    await using _ = client
    worker.signal('SIGTERM')
    expect(await worker.ended).toBe(0)
    // One that ran out of patience would leave it RUNNING.
    expect(await stack.state(run)).toMatchObject({ state: 'QUEUED', attempt: 1, handed_back: 1 })
    expect([await stagingTables(client), await count(client, pipeline)]).toEqual([0, 2])

    await using _next = await spawnWorker(stack.environment)
    expect(await finished(stack, run)).toMatchObject({ state: 'OK', attempt: 2, rows_written: manyRows })
    expect(await publications(client, run)).toBe(1)
  })

  itUnless(longRunOnly)('is retried when its warehouse connections are cut', async () => {
    const { pipeline, run, client } = await inTheMiddle(stack)
    await using _ = client
    await client.query(
      'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
    )
    const queued = await until(async () => {
      const state = await stack.state(run)
      return state.state === 'QUEUED' && state
    })
    expect(queued).toMatchObject({ error_code: 'WAREHOUSE_UNAVAILABLE' })
    expect(await finished(stack, run)).toMatchObject({ state: 'OK', attempt: 2, error_code: null })
    expect([await publications(client, run), await stagingTables(client)]).toEqual([1, 0])
    const logs = await listLogs(stack.db, pipeline.id, { taskId: run.uid, logLevel: 'WARN' }, { page: 1, pageSize: 10 })
    expect(logs.rows.map(({ message }) => message).join('\n')).toMatch(
      /WAREHOUSE_UNAVAILABLE; next attempt in \d seconds/,
    )
  })

  itUnless(longRunOnly)('continues when the connections to the pipeline database are cut', async () => {
    const { pipeline, run, client } = await inTheMiddle(stack)
    await using _ = client
    await sql`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name in ('pipeline worker', 'sluice queue')
    `.execute(stack.db)
    expect(await finished(stack, run)).toMatchObject({ state: 'OK', rows_written: manyRows })
    expect(await publications(client, run)).toBe(1)
    // And the worker takes runs as before.
    const next = await stack.run(pipeline, await stack.upload(pipeline, 'id,name\n3,Tromsø\n'))
    // A fall to one row is a WARNING.
    expect(await finished(stack, next)).toMatchObject({ state: 'WARNING', rows_written: 1 })
  })
})
