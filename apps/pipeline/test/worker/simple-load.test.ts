import { rm } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { createRun } from '../../src/runs/queue-run.ts'
import { listLogs, listRejectedRows } from '../../src/runs/read-runs.ts'
import { getUploadPath } from '@sluice/connectors/uploaded-file/upload-path'
import { finished, publications } from './large-load.ts'
import { type Pipeline, startStack, type Stack } from './worker-stack.ts'
import { spawnWorker, type WorkerProcess } from './worker-process.ts'
import { until } from '@sluice/testing/wait-until'

let stack: Stack
let worker: WorkerProcess

beforeAll(async () => {
  stack = await startStack()
  worker = await spawnWorker(stack.environment)
})
afterAll(async () => {
  await worker?.[Symbol.asyncDispose]()
  await stack?.[Symbol.asyncDispose]()
})

const page = { page: 1, pageSize: 50 }

async function load(pipeline: Pipeline, content: string | Buffer) {
  return finished(stack, await stack.run(pipeline, await stack.upload(pipeline, content)))
}

async function rowsOf({ client, schema, table }: Pipeline) {
  const warehouse = await stack.warehouses.open(client)
  return (await warehouse.queries.readTable(schema, table, { limit: 10, offset: 0 })).rows
}

describe('worker', () => {
  it('loads an uploaded file into the warehouse of the organisation, and logs the steps', async () => {
    const pipeline = await stack.pipeline()
    const run = await load(pipeline, 'id,name\n1,Oslo\n2,Bergen\n')
    expect(run).toMatchObject({ state: 'OK', attempt: 1, rows_written: 2, rows_read: 2, error_code: null })
    expect(run.message).toBe(`Loaded 2 rows into ${pipeline.schema}.cases.`)
    expect(await rowsOf(pipeline)).toEqual([
      [1, 'Oslo'],
      [2, 'Bergen'],
    ])
    const { rows: logs } = await listLogs(stack.db, pipeline.id, { order: 'ASC' }, page)
    expect(logs.map(({ message }) => message)).toEqual([
      `Attempt 1 begins to load ${pipeline.schema}.cases from cases.csv (24 bytes, SHA-256 5aabd585e4b7ea70dd3c8195d92f8f30bdde128426d1b26387ab5836b93f71a0).`,
      expect.stringMatching(/^Read cases.csv as UTF-8, delimiter “,”/),
      run.message,
    ])
  })

  it('applies the CSV options of the pipeline', async () => {
    const pipeline = await stack.pipeline()
    const settings = JSON.stringify({ csvOptions: { delimiter: 'PIPE', headerRow: false } })
    await stack.db.updateTable('data_pipelines').set({ settings }).where('id', '=', pipeline.id).execute()
    expect(await load(pipeline, 'a,b|7\n')).toMatchObject({ state: 'OK', rows_written: 1 })
    expect(await rowsOf(pipeline)).toEqual([['a,b', 7]])
  })

  it('rejects rows that do not fit, and ends with a WARNING', async () => {
    const pipeline = await stack.pipeline()
    const rows = Array.from({ length: 200 }, (_, index) => `${index},x`)
    const run = await load(pipeline, ['id,name', ...rows, '7,too,many,fields', ''].join('\n'))
    expect(run).toMatchObject({ state: 'WARNING', rows_written: 200, rows_rejected: 1 })
    expect(run.message).toMatch(/1 row did not fit and was rejected/)
    const rejected = await listRejectedRows(stack.db, pipeline.id, run.uid, page)
    expect(rejected).toMatchObject({ total: 1, rows: [{ line: 202, raw: '7,too,many,fields' }] })
  })

  it('fails the run and keeps the old rows when the file is invalid or missing', async () => {
    const pipeline = await stack.pipeline()
    await load(pipeline, 'id\n1\n')
    const bad = await load(pipeline, 'id,b\n1,2,3\n4,5,6\n')
    expect(bad).toMatchObject({ state: 'FAILED', error_code: 'TOO_MANY_REJECTED_ROWS', rows_rejected: 2 })
    const input = (await stack.upload(pipeline, 'id\n2\n')) as { file: { uid: string } }
    await rm(getUploadPath(stack.filesDirectory, input.file.uid))
    const gone = await finished(stack, await stack.run(pipeline, input))
    expect(gone).toMatchObject({ state: 'FAILED', attempt: 1 })
    expect(gone.message).not.toContain(stack.filesDirectory)
    const { rows } = await listLogs(stack.db, pipeline.id, { logImportance: 'HIGH', taskId: gone.uid }, page)
    expect(rows).toMatchObject([{ level: 'ERROR', message: `${gone.message} (${gone.error_code})` }])
    expect(await rowsOf(pipeline)).toEqual([[1]])
  })

  it('logs added and missing columns', async () => {
    const pipeline = await stack.pipeline()
    await load(pipeline, 'id,name\n1,Oslo\n')
    const run = await load(pipeline, 'id,age\n1,7\n')
    const { rows } = await listLogs(stack.db, pipeline.id, { logImportance: 'HIGH', taskId: run.uid }, page)
    const messages = rows.map(({ message }) => message).toSorted()
    expect(messages).toEqual([
      expect.stringMatching(/^Column "age" \(.*\) is new in/),
      expect.stringMatching(/^Column "name" of .* is not in the source any more/),
    ])
  })

  it('completes a published run from the ledger if its status was not written', async () => {
    const pipeline = await stack.pipeline()
    const input = (await stack.upload(pipeline, 'id\n1\n2\n')) as { file: { uid: string } }
    const run = await finished(stack, await stack.run(pipeline, input))
    await rm(getUploadPath(stack.filesDirectory, input.file.uid))
    const asBefore = { state: 'RUNNING', finished_at: null, rows_written: null, rows_rejected: 0 }
    await stack.db.updateTable('runs').set(asBefore).where('id', '=', run.id).execute()
    await until(async () => await stack.queue.sendMissing(stack.db, [run]))
    expect(await finished(stack, run)).toMatchObject({ state: 'OK', attempt: 2, rows_written: 2, message: run.message })
    await using client = await stack.inside(pipeline.client)
    expect(await publications(client, run)).toBe(1)
  })

  it('creates and loads one run from five concurrent requests', async () => {
    const pipeline = await stack.pipeline()
    const input = (await stack.upload(pipeline, 'id\n1\n')) as never
    const request = {
      runnableId: pipeline.id,
      client: pipeline.client,
      trigger: 'MANUAL',
      createdBy: null,
      input,
    } as const
    const click = () => stack.db.transaction().execute((trx) => createRun(trx, stack.queue, request))
    // A stopped worker cannot end the run before the last request.
    worker.signal('SIGSTOP')
    await worker.stopped()
    const clicks = await Promise.all(Array.from({ length: 5 }, click)).finally(() => worker.signal('SIGCONT'))
    expect(clicks.filter(({ existing }) => !existing)).toHaveLength(1)
    const { run } = clicks[0]!
    expect(clicks.map((each) => each.run.uid)).toEqual(clicks.map(() => run.uid))
    expect(await finished(stack, run)).toMatchObject({ state: 'OK', attempt: 1, rows_written: 1 })
    const { rows } = await sql<{ uid: string }>`select uid from runs where runnable_id = ${pipeline.id}`.execute(
      stack.db,
    )
    expect(rows).toEqual([{ uid: run.uid }])
    const jobs = await sql`select from pgboss.job where data ->> 'run' = ${run.uid}`.execute(stack.db)
    expect(jobs.rows).toHaveLength(1)
    await using inside = await stack.inside(pipeline.client)
    expect(await publications(inside, run)).toBe(1)
  })

  it('serves liveness, readiness and Prometheus metrics', async () => {
    const get = (path: string) => fetch(`${worker.url}${path}`)
    expect(await (await get('/health/live')).json()).toEqual({ status: 'UP' })
    const ready = await get('/health/ready')
    expect(ready.status).toBe(200)
    expect(await ready.json()).toMatchObject({ parts: { database: 'UP', queue: 'UP', warehouse: 'UP' } })
    const metrics = await (await get('/metrics')).text()
    expect(metrics).toMatch(/pipeline_run_attempts_total\{outcome="OK",service="pipeline-worker"\} \d+/)
    expect(metrics).toMatch(/pipeline_running_loads\{.*\} 0/)
  })

  it('writes no secrets to its log', () => {
    const { PIPELINE_DATABASE_URL, WAREHOUSE_DATABASE_URL, SECRET_KEYS, SERVICE_SECRET } = stack.environment
    const password = new URL(WAREHOUSE_DATABASE_URL!).password
    expect(worker.output()).toContain('"ending":"OK"')
    for (const secret of [PIPELINE_DATABASE_URL, WAREHOUSE_DATABASE_URL, SECRET_KEYS, SERVICE_SECRET, `:${password}@`])
      expect(worker.output()).not.toContain(secret)
  })
})
