import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { connect } from '@sluice/database'
import { createLogger, Redaction } from '@sluice/process'
import { testDatabase } from '@sluice/testing'
import { sql } from 'kysely'
import type { DB } from '../../src/database.ts'
import type { Delivery, WorkerQueue } from '../../src/queue/job-queue.ts'
import { migrateQueue, openQueue, openWorkerQueue, type WorkerQueueOptions } from '../../src/queue/pg-boss-queue.ts'
import { startStatementProxy } from './sql-recording-proxy.ts'
import { startStack, type Stack } from './worker-stack.ts'
import { until } from '@sluice/testing/wait-until'

const logger = createLogger({ name: 'test', level: 'silent', redaction: new Redaction() })

let stack: Stack
let worker: WorkerQueue | undefined
beforeAll(async () => {
  stack = await startStack()
})
afterAll(() => stack?.[Symbol.asyncDispose]())
afterEach(async () => {
  await worker?.[Symbol.asyncDispose]()
  worker = undefined
  await sql`delete from pgboss.job`.execute(stack.db)
})

const concurrency = 3
async function work(
  handle: (delivery: Delivery) => Promise<void>,
  {
    deferred = () => false,
    ...options
  }: Partial<WorkerQueueOptions> & { deferred?: (delivery: Delivery) => boolean } = {},
): Promise<void> {
  const connectionString = stack.environment['PIPELINE_DATABASE_URL']!
  worker = await openWorkerQueue({ connectionString, concurrency, clientConcurrency: 2, logger, ...options })
  await worker.handleJobs(async (delivery) => {
    await handle(delivery)
    return !deferred(delivery)
  })
}

const run = (client: string = randomUUID()) => ({ uid: randomUUID(), client })
const send = (...runs: ReturnType<typeof run>[]) =>
  stack.db.transaction().execute(async (trx) => {
    for (const each of runs) await stack.queue.send(trx, each)
  })
const live = async () => {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int from pgboss.job where state < 'completed'`.execute(stack.db)
  return rows[0]!.count
}

describe('run queue', () => {
  it('delivers a run when its transaction commits, and not if it is rolled back', async () => {
    const delivered: string[] = []
    await work(async (delivery) => void delivered.push(delivery.run))
    const rolledBack = stack.db.transaction().execute(async (trx) => {
      await stack.queue.send(trx, run())
      throw new Error('changed my mind')
    })
    await expect(rolledBack).rejects.toThrow('changed my mind')
    const sent = run()
    await send(sent)
    await until(() => delivered.length === 1)
    expect(delivered).toEqual([sent.uid])
    await until(async () => (await live()) === 0)
  })

  it('delivers a run when it is notified, without a poll', async () => {
    const delivered: string[] = []
    await work(async (delivery) => void delivered.push(delivery.run), { pollSeconds: 600 })
    const sent = Array.from({ length: concurrency + 1 }, () => run())
    for (const [index, each] of sent.entries()) {
      await send(each)
      await until(async () => delivered.length === index + 1 && (await live()) === 0)
      // The end of a run causes fetches. They have ended when the next run is sent.
      await sleep(200)
    }
    expect(delivered).toEqual(sent.map(({ uid }) => uid))
  })

  it('sends few queries for a run, although many runs may be executed at the same time', async () => {
    await using proxy = await startStatementProxy(stack.environment['PIPELINE_DATABASE_URL']!)
    const delivered: string[] = []
    await work(async (delivery) => void delivered.push(delivery.run), {
      connectionString: proxy.url,
      concurrency: 10,
      pollSeconds: 600,
    })
    await sleep(500)
    proxy.take()
    await send(run())
    await until(async () => delivered.length === 1 && (await live()) === 0)
    await sleep(500)
    const fetches = proxy.take().filter(({ text }) => /skip locked/i.test(text))
    // One for the notification, one for further runs, and one after the end of the run.
    expect(fetches.length).toBeLessThanOrEqual(3)
    await worker![Symbol.asyncDispose]()
    worker = undefined
  })

  it('holds a run once even if it is sent several times', async () => {
    const one = run()
    const other = run()
    await send(one, one)
    await send(one)
    expect(await stack.queue.sendMissing(stack.db, [one, other])).toBe(1)
    expect(await live()).toBe(2)
  })

  it('delivers a run again when its handler requeues it or throws', async () => {
    const delivered: string[] = []
    const [later, thrown] = [run(), run()]
    let early: boolean | undefined
    await work(async ({ run, requeue }) => {
      const first = !delivered.includes(run)
      delivered.push(run)
      if (!first) return
      if (run === thrown.uid) throw new Error('no')
      early = await stack.db.transaction().execute((trx) => requeue(trx, 0))
    })
    await send(later, thrown)
    await until(() => delivered.length === 4)
    expect(early).toBe(true)
    expect(delivered.toSorted()).toEqual([later.uid, later.uid, thrown.uid, thrown.uid].toSorted())
  })

  it('delays a requeued run by the given time', async () => {
    const delivered: number[] = []
    await work(async ({ requeue }) => {
      delivered.push(Date.now())
      if (delivered.length === 1) await stack.db.transaction().execute((trx) => requeue(trx, 2))
    })
    await send(run())
    await until(() => delivered.length === 2)
    expect(delivered[1]! - delivered[0]!).toBeGreaterThan(1_800)
  })

  it('does not requeue a run that the worker no longer holds', async () => {
    let answer: boolean | undefined
    await work(async ({ requeue }) => {
      await sql`update pgboss.job set state = 'failed' where state = 'active'`.execute(stack.db)
      answer = await stack.db.transaction().execute((trx) => requeue(trx, 0))
    })
    await send(run())
    await until(() => answer !== undefined)
    expect(answer).toBe(false)
    expect(await live()).toBe(0)
  })

  it('delivers a run of an organisation without active runs before the backlog of another', async () => {
    const [crowd, single] = [randomUUID(), run()]
    const began: string[] = []
    const release = Promise.withResolvers<void>()
    await work(
      async (delivery) => {
        began.push(delivery.run)
        await release.promise
      },
      { clientConcurrency: 1 },
    )
    await send(run(crowd))
    await until(() => began.length === 1)
    await send(run(crowd), run(crowd), single)
    await until(() => began.includes(single.uid))
    expect(began).toHaveLength(2)
    release.resolve()
    await until(() => began.length === 4)
  })

  it('delivers the backlog of one organisation without polls, within its limit', async () => {
    const organisation = randomUUID()
    const backlog = Array.from({ length: 20 }, () => run(organisation))
    const delivered: string[] = []
    let [running, maxRunning] = [0, 0]
    // Sent first: handlers fetch the first runs when they start, and only the end of a run can make them fetch again.
    await send(...backlog)
    await work(
      async (delivery) => {
        delivered.push(delivery.run)
        maxRunning = Math.max(maxRunning, ++running)
        await sleep(5)
        running -= 1
      },
      { clientConcurrency: 2, pollSeconds: 600 },
    )
    await until(() => delivered.length === backlog.length)
    expect(delivered.toSorted()).toEqual(backlog.map(({ uid }) => uid).toSorted())
    // Handlers that fetch at the same time can exceed the limit. The claim of a run enforces it (`claimRun`).
    expect(maxRunning).toBeLessThanOrEqual(concurrency)
  })

  it('delivers runs of other organisations while one has a backlog', async () => {
    const organisation = randomUUID()
    const backlog = Array.from({ length: 30 }, () => run(organisation))
    const others = Array.from({ length: 3 }, () => run())
    const delivered: string[] = []
    await send(...backlog)
    await work(
      async (delivery) => {
        delivered.push(delivery.run)
        if (delivered.length === 4) await send(...others)
        await sleep(20)
      },
      { clientConcurrency: 1, pollSeconds: 600 },
    )
    await until(() => delivered.length === backlog.length + others.length)
    for (const { uid } of others) expect(delivered.indexOf(uid)).toBeLessThan(backlog.length - 10)
  })

  it('does not fetch again at once after a run that was deferred', async () => {
    const runs = Array.from({ length: concurrency + 3 }, () => run())
    const delivered: string[] = []
    await send(...runs)
    await work(async (delivery) => void delivered.push(delivery.run), { deferred: () => true, pollSeconds: 2 })
    await until(() => delivered.length >= concurrency)
    await sleep(500)
    expect(delivered).toHaveLength(concurrency)
    await until(() => delivered.length === runs.length)
  })

  it('can be migrated repeatedly, and cannot be opened before the first migration', async () => {
    await using database = await testDatabase({})
    await using empty = connect<DB>(database.url, { name: 'test' })
    await expect(openQueue(empty.db, logger)).rejects.toThrow(/Run the migrations first/)
    await migrateQueue(database.url)
    await migrateQueue(database.url)
    await using queue = await openQueue(empty.db, logger)
    await queue.check()
  })
})
