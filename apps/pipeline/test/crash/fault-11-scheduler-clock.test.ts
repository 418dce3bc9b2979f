import { existsSync, readdirSync } from 'node:fs'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { isLongRun } from '@sluice/testing/long-test-runs'
import { describeUnless } from '@sluice/testing/skip-tests'
import { sql } from 'kysely'
import { startStack, type Stack } from '../worker/worker-stack.ts'
import { spawnWorker } from '../worker/worker-process.ts'
import { until } from '@sluice/testing/wait-until'
import { comeDue, midnightly, outcomes, waiting } from './due-schedules.ts'

/** Debian's libfaketime. Undefined where it is not installed. */
const library = readdirSync('/usr/lib')
  .map((folder) => `/usr/lib/${folder}/faketime/libfaketime.so.1`)
  .find((path) => existsSync(path))

/** Summer and winter time, and clients that move, are in worker/scheduler.test.ts and src/schedules. */
const missing = library ? undefined : 'no libfaketime here: apt-get install libfaketime'
describeUnless(missing)('scheduler with a wrong system clock', () => {
  let stack: Stack
  beforeAll(async () => void (stack = await startStack({ heartbeatSeconds: 10 })))
  afterAll(() => stack?.[Symbol.asyncDispose]())

  it.each(isLongRun ? ['+26h', '-26h'] : ['-26h'])(
    'starts due schedules and no others with a clock offset of %s',
    async (wrong) => {
      const faked = { LD_PRELOAD: library!, FAKETIME: wrong, FAKETIME_DONT_FAKE_MONOTONIC: '1' }
      const due = await midnightly(stack, 5)
      const early = await midnightly(stack, 5)
      const ids = early.map(({ id }) => id)
      // In an hour: by its own clock it would be due since yesterday, or not before the day after tomorrow.
      await stack.db
        .updateTable('runnables')
        .set({ next_run_at: sql`now() + interval '1 hour'` })
        .where('id', 'in', ids)
        .execute()
      await comeDue(stack, due)
      await using _worker = await spawnWorker({ ...stack.environment, ...faked, CLIENT_CONCURRENCY: '1' })
      await until(async () => (await waiting(stack, due)) === 0)
      // Once more is due and started, all has been looked at again since.
      const later = await midnightly(stack, 1)
      await comeDue(stack, later)
      await until(async () => (await waiting(stack, later)) === 0)
      expect(await outcomes(stack, due)).toEqual(due.map(({ id }) => ({ id, runs: 1, left_out: 0 })))
      expect(await outcomes(stack, early)).toEqual(ids.map((id) => ({ id, runs: 0, left_out: 0 })))
      const next = await stack.db
        .selectFrom('runnables')
        .select('next_run_at')
        .where('id', '=', due[0]!.id)
        .executeTakeFirstOrThrow()
      expect(next.next_run_at!.getTime() - Date.now()).toBeLessThanOrEqual(24 * 3_600_000)
      expect(next.next_run_at!.getTime()).toBeGreaterThan(Date.now())
    },
  )
})
