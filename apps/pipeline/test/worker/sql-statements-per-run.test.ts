import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { finished } from './large-load.ts'
import { spawnWorker, type WorkerProcess } from './worker-process.ts'
import { startStack, type Stack } from './worker-stack.ts'
import { type SentStatement, startStatementProxy, type StatementProxy } from './sql-recording-proxy.ts'

/**
 * The maximum numbers of statements that a run with one row sends to the warehouse and to the database of the service.
 * They may only be lowered.
 */
const limits = { warehouse: 18, service: 11 }

let stack: Stack
let service: StatementProxy
let warehouse: StatementProxy
let worker: WorkerProcess
beforeAll(async () => {
  stack = await startStack()
  const { PIPELINE_DATABASE_URL, WAREHOUSE_DATABASE_URL } = stack.environment
  service = await startStatementProxy(PIPELINE_DATABASE_URL!)
  warehouse = await startStatementProxy(WAREHOUSE_DATABASE_URL!)
  worker = await spawnWorker({
    ...stack.environment,
    PIPELINE_DATABASE_URL: service.url,
    WAREHOUSE_DATABASE_URL: warehouse.url,
  })
})
afterAll(async () => {
  await worker?.[Symbol.asyncDispose]()
  await service?.[Symbol.asyncDispose]()
  await warehouse?.[Symbol.asyncDispose]()
  await stack?.[Symbol.asyncDispose]()
})

/** Returns all statements if they are more than `limit`. */
const excessOf = (sent: readonly SentStatement[], limit: number): string[] =>
  sent.length > limit ? sent.map(({ text }) => text.replaceAll(/\s+/g, ' ').trim().slice(0, 120)) : []

/** Statements whose number depends on the time that a run takes, or that the queue sends. */
const isPeriodic = (text: string): boolean =>
  /pgboss\.|pg_listening_channels|\bi\.relname as name,\s+t\.relname|^update "runs" set "heartbeat_at"|insert into run_logs|^(begin|commit)$/i.test(
    text,
  )

const fewest = (lists: readonly SentStatement[][]): SentStatement[] =>
  lists.reduce((one, other) => (other.length < one.length ? other : one))

describe('a run that loads one row', () => {
  it('sends few statements to the warehouse and to the database of the service', async () => {
    const pipeline = await stack.pipeline()
    const load = async () => {
      const run = await stack.run(pipeline, await stack.upload(pipeline, 'id,name\n1,Oslo\n'))
      expect((await finished(stack, run)).state).toBe('OK')
    }
    // The second run replaces the table of the first one.
    for (let run = 0; run < 2; run++) await load()
    service.take()
    await sleep(6_000)
    const idle = new Set(service.take().map(({ text }) => text))
    const toWarehouse: SentStatement[][] = []
    const toService: SentStatement[][] = []
    // Maintenance jobs can send statements during one of the runs.
    for (let run = 0; run < 3; run++) {
      service.take()
      warehouse.take()
      await load()
      await sleep(500)
      toWarehouse.push(warehouse.take().filter(({ user }) => user.endsWith('_load')))
      toService.push(service.take().filter(({ text }) => !idle.has(text) && !isPeriodic(text)))
    }
    // The lists show which statements were added.
    expect(excessOf(fewest(toWarehouse), limits.warehouse)).toEqual([])
    expect(excessOf(fewest(toService), limits.service)).toEqual([])
  })
})
