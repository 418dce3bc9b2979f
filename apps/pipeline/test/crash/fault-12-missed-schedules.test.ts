import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { isLongRun, longRunOnly } from '@sluice/testing/long-test-runs'
import { itUnless } from '@sluice/testing/skip-tests'
import { drawCount } from '@sluice/testing/random-case-count'
import { startGate } from '../api/interruptible-proxy.ts'
import { runsOf } from '../worker/schedule-fixtures.ts'
import { startStack, type Stack } from '../worker/worker-stack.ts'
import { spawnWorker, type WorkerProcess } from '../worker/worker-process.ts'
import { until } from '@sluice/testing/wait-until'
import { dice } from './random/seeded-random.ts'
import { comeDue, midnightly, outcomes, waiting, withoutJob } from './due-schedules.ts'

const kills = drawCount({ short: 0, long: 200, variable: 'SLUICE_KILLS' })
/** SLUICE_SEED repeats the draws: schedulers that live equally long. */
const seed = process.env['SLUICE_SEED'] ?? randomBytes(4).toString('hex')

let stack: Stack
beforeAll(async () => void (stack = await startStack({ heartbeatSeconds: 10 })))
afterAll(() => stack?.[Symbol.asyncDispose]())

const worker = (more: Record<string, string> = {}): Promise<WorkerProcess> =>
  spawnWorker({ ...stack.environment, CLIENT_CONCURRENCY: '1', WORKER_CONCURRENCY: '1', ...more })

describe('schedule', () => {
  it.each(isLongRun ? ['schedule-locked', 'schedule-started', 'schedule-committed'] : ['schedule-started'])(
    'gets exactly one run per tick when the scheduler is killed at %s',
    async (point) => {
      const things = await midnightly(stack, 60)
      await comeDue(stack, things)
      {
        await using killed = await worker({ FAILPOINTS: `${point}:exit@1` })
        await killed.ended
        expect(killed.output()).toContain(`failpoint ${point}: exit`)
      }
      const begun = (await outcomes(stack, things)).filter(({ runs }) => runs > 0)
      expect(begun).toHaveLength(point === 'schedule-committed' ? 20 : 0)
      await using _other = await worker()
      await until(async () => (await waiting(stack, things)) === 0)
      expect(await outcomes(stack, things)).toEqual(things.map(({ id }) => ({ id, runs: 1, left_out: 0 })))
      expect(await withoutJob(stack, things)).toBe(0)
    },
  )

  itUnless(longRunOnly)('is planned by another scheduler when the first is killed while planning it', async () => {
    const things = await midnightly(stack, 3)
    const ids = things.map(({ id }) => id)
    await stack.db.updateTable('runnables').set({ planned: false, next_run_at: null }).where('id', 'in', ids).execute()
    {
      await using killed = await worker({ FAILPOINTS: 'schedule-planned:exit@1' })
      await killed.ended
    }
    expect(await waiting(stack, things)).toBe(3)
    await using _other = await worker()
    await until(async () => (await waiting(stack, things)) === 0)
    const rows = await stack.db.selectFrom('runnables').select('next_run_at').where('id', 'in', ids).execute()
    for (const { next_run_at } of rows) expect(next_run_at!.getTime()).toBeGreaterThan(Date.now())
  })

  it('gets one run after ten missed ticks, and its log counts the nine skipped ones and gives the reason', async () => {
    const [thing] = await midnightly(stack, 1)
    await comeDue(stack, [thing!], 9)
    await using _worker = await worker()
    await until(async () => (await waiting(stack, [thing!])) === 0)
    const [run, ...more] = await runsOf(stack, thing!)
    expect(more).toEqual([])
    expect(run!.said[0]).toMatch(
      /covers 9 earlier runs, the first due at \S+ 00:00 \(UTC\), because no worker was running/,
    )
    expect(run!.tick).toBe(`${new Date().toISOString().slice(0, 10)}T00:00:00.000Z`)
  })

  it('gets its run after a database outage during which it became due', async () => {
    const url = new URL(stack.environment['PIPELINE_DATABASE_URL']!)
    const gate = await startGate(Number(url.port))
    const throughGate = Object.assign(new URL(url), { port: String(gate.port) }).href
    const things = await midnightly(stack, 10)
    await using workers = new AsyncDisposableStack()
    const both: WorkerProcess[] = []
    for (const _ of [1, 2]) both.push(workers.use(await worker({ PIPELINE_DATABASE_URL: throughGate })))
    await gate.shut()
    await comeDue(stack, things)
    const tried = () => both.every((each) => each.output().includes('a scheduler job failed'))
    await until(tried)
    expect(await waiting(stack, things)).toBe(10)
    await gate.open()
    await until(async () => (await waiting(stack, things)) === 0)
    expect(await outcomes(stack, things)).toEqual(things.map(({ id }) => ({ id, runs: 1, left_out: 0 })))
    await workers.disposeAsync()
    await gate.shut()
  })

  itUnless(kills > 0 ? undefined : longRunOnly)(
    `gets a run or a logged skip for every tick while ${kills} schedulers are killed at random (SLUICE_SEED=${seed})`,
    async () => {
      const things = await midnightly(stack, Math.min(3 * kills, 120))
      const due = new Map(things.map(({ id }) => [id, 0]))
      const over = new AbortController()
      let killed = 0
      const total = () => [...due.values()].reduce((sum, times) => sum + times, 0)
      const deaths = ['one', 'other'].map(async (name) => {
        const die = dice(seed).branch(name)
        while (!over.signal.aborted) {
          await using victim = await worker({ FAILPOINTS: 'schedule-locked:sleep:20,schedule-started:sleep:20' })
          await sleep(die.between(0, 3_000))
          victim.signal('SIGKILL')
          await victim.ended
          killed += 1
        }
      })
      // Both are necessary: on a busy machine few schedulers start, and few ticks become runs.
      const enough = () => killed >= kills && total() >= things.length * 3
      for (; !enough(); await sleep(200)) for (const id of await comeDue(stack, things)) due.set(id, due.get(id)! + 1)
      over.abort()
      await Promise.all(deaths)
      await using _last = await worker()
      await until(async () => (await waiting(stack, things)) === 0)
      const wrong = (await outcomes(stack, things)).filter(({ id, runs, left_out }) => runs + left_out !== due.get(id))
      expect({ seed, wrong }).toEqual({ seed, wrong: [] })
      expect(await withoutJob(stack, things)).toBe(0)
    },
    300_000 + kills * 10_000,
  )
})
