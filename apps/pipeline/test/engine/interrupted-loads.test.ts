import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { cancelRun } from '../../src/engine/runs/cancel-run.ts'
import { listLogs } from '../../src/engine/runs/read-runs.ts'
import { killInTheMiddle, stallInTheMiddle } from './dead-worker-scenarios.ts'
import { count, finished, inTheMiddle, manyRows, publications, stagingTables } from './large-load.ts'
import { startStack, type Stack } from './stack.ts'
import { spawnWorker, until, type WorkerProcess } from './worker-process.ts'

let stack: Stack
let worker: WorkerProcess

/** These wait until a worker counts as dead: meanwhile, the other tests run. */
let waiting: Stack[]
let killed: ReturnType<typeof killInTheMiddle>
let stalled: ReturnType<typeof stallInTheMiddle>

beforeAll(async () => {
  stack = await startStack()
  waiting = [await startStack({ heartbeatSeconds: 10 }), await startStack({ heartbeatSeconds: 10 })]
  killed = killInTheMiddle(waiting[0]!)
  stalled = stallInTheMiddle(waiting[1]!)
  // They fail in the tests that ask for them.
  killed.catch(() => {})
  stalled.catch(() => {})
})
afterAll(async () => {
  await Promise.allSettled([killed, stalled])
  for (const each of [stack, ...(waiting ?? [])]) await each?.[Symbol.asyncDispose]()
})

describe('a load that is under way', () => {
  beforeEach(async () => {
    worker = await spawnWorker(stack.environment)
  })
  afterEach(() => worker?.[Symbol.asyncDispose]())

  it('stops soon after it is cancelled, and leaves the table as it was', async () => {
    const { pipeline, run, client } = await inTheMiddle(stack)
    await using _ = client
    const cancelledAt = Date.now()
    const cancelled = await stack.db.transaction().execute((trx) => cancelRun(trx, pipeline.id))
    expect(cancelled).toMatchObject({ uid: run.uid, state: 'CANCELLED' })
    await until(() => worker.output().includes('"ending":"LOST"'))
    expect(await stagingTables(client)).toBe(0)
    expect(Date.now() - cancelledAt).toBeLessThan(5_000)
    expect(await count(client, pipeline)).toBe(2)
    expect(await stack.state(run)).toMatchObject({ state: 'CANCELLED', attempt: 1 })
  })

  it('is handed back when its worker is told to stop, and finished by the next', async () => {
    const { pipeline, run, client } = await inTheMiddle(stack)
    await using _ = client
    const toldAt = Date.now()
    worker.signal('SIGTERM')
    expect(await worker.ended).toBe(0)
    expect(Date.now() - toldAt).toBeLessThan(5_000)
    expect(await stack.state(run)).toMatchObject({ state: 'QUEUED', attempt: 1, handed_back: 1 })
    expect([await stagingTables(client), await count(client, pipeline)]).toEqual([0, 2])

    await using _next = await spawnWorker(stack.environment)
    expect(await finished(stack, run)).toMatchObject({ state: 'OK', attempt: 2, rows_written: manyRows })
    expect(await publications(client, run)).toBe(1)
  })

  it('is tried again when the warehouse goes away', async () => {
    const { pipeline, run, client } = await inTheMiddle(stack)
    await using _ = client
    await client.query(
      'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
    )
    await until(async () => (await stack.state(run)).state === 'QUEUED')
    expect(await stack.state(run)).toMatchObject({ error_code: 'WAREHOUSE_UNAVAILABLE' })
    expect(await finished(stack, run)).toMatchObject({ state: 'OK', attempt: 2, error_code: null })
    expect([await publications(client, run), await stagingTables(client)]).toEqual([1, 0])
    const logs = await listLogs(stack.db, pipeline.id, { taskId: run.uid, logLevel: 'WARN' }, { page: 1, pageSize: 10 })
    expect(logs.rows.map(({ message }) => message).join('\n')).toMatch(/WAREHOUSE_UNAVAILABLE; next try in \d seconds/)
  })

  it('goes on when the connections to the service’s own database are cut', async () => {
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
    expect(await finished(stack, next)).toMatchObject({ state: 'OK', rows_written: 1 })
  })
})

describe('a run whose worker is killed in the middle', () => {
  it('leaves the table as it was', async () => {
    const { after } = await killed
    expect(after).toMatchObject({ rows: 2, publications: 0, run: { state: 'RUNNING', attempt: 1 } })
  })

  it('is taken over and published once, with nothing left behind', async () => {
    const { atLast, seconds } = await killed
    expect(atLast).toMatchObject({ rows: manyRows, publications: 1, staging: 0, run: { state: 'OK', attempt: 2 } })
    // Ten seconds of silence, and a look every three.
    expect(seconds).toBeLessThan(25)
  })
})

describe('a worker that stops breathing and wakes up after its run was taken over', () => {
  it('changes nothing any more', async () => {
    const { atLast } = await stalled
    expect(atLast).toMatchObject({
      rows: manyRows,
      publications: 1,
      staging: 0,
      run: { state: 'OK', attempt: 2, rows_written: manyRows },
    })
  })
})
