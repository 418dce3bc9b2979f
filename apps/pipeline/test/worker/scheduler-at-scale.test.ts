import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { overheard, planOf } from './captured-queries.ts'
import { virtualScheduler } from './schedule-fixtures.ts'
import { startStack, type Stack } from './worker-stack.ts'

let stack: Stack
beforeAll(async () => void (stack = await startStack()))
afterAll(() => stack?.[Symbol.asyncDispose]())

it('the scheduler finds due and unplanned schedules by index among 50,000 schedules', async () => {
  await sql`
    insert into runnables (id, uid, client, kind, name, disabled, run_trigger, continuously_updated, planned, zone, next_run_at)
    select i, gen_random_uuid(), ${randomUUID()}, 'VIEW', 'View ' || i, false, 'EVERY_DAY_0AM', false, true, 'UTC',
      '2026-11-23T00:00Z'::timestamptz + i * interval '1 second'
    from generate_series(1, 50000) i`.execute(stack.db)
  await sql`vacuum analyze runnables`.execute(stack.db)
  const { db, asked } = overheard(stack.db)
  const scheduler = virtualScheduler({ ...stack, db }, '2026-11-23T00:00:03Z')
  await scheduler.plan()
  await scheduler.start()
  const runs = await stack.db.selectFrom('runs').select('id').execute()
  expect(runs).toHaveLength(3)
  const reads = asked.filter((query) => /^\s*select .*"runnables"/s.test(query.sql))
  expect(reads.length).toBeGreaterThanOrEqual(3)
  for (const query of reads) {
    const plan = await planOf(stack.db, query)
    expect(plan).toMatch(/runnables_(due|unplanned)/)
    expect(plan).not.toMatch(/Seq Scan/)
  }
})
