import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { startStack, type Stack } from './stack.ts'
import { spawnWorker, until, type WorkerProcess } from './worker-process.ts'

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

const finished = (run: { id: number }) =>
  until(async () => {
    const state = await stack.state(run)
    return state.finished_at && state
  })

describe('a worker', () => {
  it('loads an uploaded file into the client’s warehouse and says how it went', async () => {
    const pipeline = await stack.pipeline()
    const input = await stack.upload(pipeline, 'id,name\n1,Oslo\n2,Bergen\n')
    const run = await finished(await stack.run(pipeline, input))
    expect(run).toMatchObject({ state: 'OK', attempt: 1, rows_written: 2, rows_read: 2, error_code: null })
    expect(run.message).toBe(`Loaded 2 rows into ${pipeline.schema}.cases.`)
    const warehouse = await stack.warehouses.open(pipeline.client)
    const { rows } = await warehouse.readTable(pipeline.schema, 'cases', { limit: 10, offset: 0 })
    expect(rows).toEqual([
      [1, 'Oslo'],
      [2, 'Bergen'],
    ])
  })
})
