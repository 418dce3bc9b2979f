import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { addMonthPartitions } from '@sluice/database'
import { CompiledQuery, type Kysely, sql } from 'kysely'
import type { DB } from '../../src/database.ts'
import { listCheckResults } from '../../src/quality-checks/check-result-repository.ts'
import { claimRun } from '../../src/runs/claim-run.ts'
import { findStartKey, findRun, listLines } from '../../src/runs/follow-run-logs.ts'
import { watchRuns } from '../../src/api/runs/watch-run-changes.ts'
import { listRunsOfObjects } from '../../src/api/runs/runs-of-objects.ts'
import { findLastRuns, listLogs, listRejectedRows, listRuns } from '../../src/runs/read-runs.ts'
import { advanceDueWorkflows } from '../../src/run-lifecycle/advance-due-workflows.ts'
import { mustWaitForInputs } from '../../src/views/wait-for-input-views.ts'
import { overheard, planOf, withoutMark } from './captured-queries.ts'
import { virtualScheduler } from './schedule-fixtures.ts'
import { startStack, type Stack } from './worker-stack.ts'

const client = randomUUID()
/**
 * Inserts 100 pipelines with 80 runs each. Every run has five log lines, two results, two rejected rows and three jobs.
 */
const one = 40
const page = { page: 1, pageSize: 50 }
let stack: Stack
/** A run in the middle of its runs. */
let run: { id: number; uid: string }

beforeAll(async () => {
  stack = await startStack()
  const { db } = stack
  await addMonthPartitions(db, { table: 'run_logs', column: 'created_at' }, new Date())
  await sql`
    insert into runnables (id, uid, client, kind, name, disabled, run_trigger, continuously_updated, planned, zone, next_run_at)
    select i, gen_random_uuid(), ${client}, 'VIEW', 'View ' || i, false, 'EVERY_DAY_0AM', false, true, 'UTC',
      '2026-11-23T00:00Z'::timestamptz + i * interval '1 second'
    from generate_series(1, 5000) i`.execute(db)
  await sql`
    insert into runs (runnable_id, client, trigger, state, attempt, input, created_at, started_at, finished_at)
    select t, ${client}, 'SCHEDULE', case when n % 10 = 0 then 'FAILED' else 'OK' end, 1, '{}', at, at, at + interval '1 minute'
    from generate_series(1, 80) n, generate_series(1, 100) t,
      lateral (select now() - interval '20 hours' + n * interval '15 minutes' as at) x
    order by n`.execute(db)
  await sql`
    insert into run_logs (run_id, runnable_id, created_at, level, importance, message)
    select r.id, r.runnable_id, r.started_at, case when i = 3 then 'WARN' else 'INFO' end, 'LOW', 'A line of the usual length, ' || i
    from runs r, generate_series(1, 5) i order by r.id, i`.execute(db)
  await sql`
    insert into data_quality_results (run_id, check_uid, check_name, position, status)
    select r.id, gen_random_uuid(), 'A check', i, 'OK' from runs r, generate_series(1, 2) i`.execute(db)
  await sql`
    insert into rejected_rows (run_id, attempt, line, reason, raw)
    select r.id, 1, i, 'It does not fit.', 'a,b' from runs r, generate_series(1, 2) i`.execute(db)
  await sql`
    insert into workflow_run_jobs (run_id, step, job, execution_mode, delay_after, name, kind, state, due_at)
    select r.id, 1, i, 'SEQUENTIAL', 0, 'A job', 'VIEW', case when r.id % 500 = 0 and i < 3 then (array['WAITING', 'RUNNING'])[i] else 'OK' end,
      case when i = 1 then now() + interval '1 day' end
    from runs r, generate_series(1, 3) i`.execute(db)
  await sql`vacuum analyze`.execute(db)
  run = await db
    .selectFrom('runs')
    .select(['id', 'uid'])
    .where('runnable_id', '=', one)
    .orderBy('id')
    .offset(40)
    .limit(1)
    .executeTakeFirstOrThrow()
})
afterAll(() => stack?.[Symbol.asyncDispose]())

/** How each query is answered that a piece of work asks. */
async function plansOf(work: (db: Kysely<DB>) => Promise<unknown>): Promise<string[]> {
  const { db, asked } = overheard(stack.db)
  await work(db)
  expect(asked.length).toBeGreaterThan(0)
  const reads = asked.filter((query) => /^\s*(with|select|update)\b[^]*\bfrom\b/i.test(query.sql))
  return Promise.all(reads.map((query) => planOf(stack.db, query)))
}
const followed = { runnableId: one }
const lastLine = async () => (await findStartKey(stack.db, followed, 0)) - 20

async function analyzedPlanOf(query: CompiledQuery): Promise<string> {
  const analyzed = CompiledQuery.raw(`explain (analyze, timing off, costs off, buffers off) ${withoutMark(query)}`, [
    ...query.parameters,
  ])
  const { rows } = await stack.db.executeQuery<{ 'QUERY PLAN': string }>(analyzed)
  return rows.map((row) => row['QUERY PLAN']).join('\n')
}

/** Tables that are read from one end to the other, but for partitions with nothing in them. */
const readWhole = (plan: string): string[] =>
  plan
    .split('\n')
    .filter((line) =>
      / Seq Scan on (runs|run_logs\w*|rejected_rows|data_quality_results|workflow_run_jobs)\b/.test(` ${line}`),
    )
    .filter((line) => !line.includes('(cost=0.00..0.00 '))

/** By what: partitions name their indexes by their columns. */
const [newestRuns, newestLines, linesOfRun] = [/runs_runnable_newest/, /runnable_id_id_idx/, /run_id_id_idx/]

describe('query plans with 8,000 runs', () => {
  it.each<[what: string, index: RegExp, work: (db: Kysely<DB>) => Promise<unknown>]>([
    ['the newest runs of a view', newestRuns, (db) => listRuns(db, one, page)],
    ['a later page of the runs of a view', newestRuns, (db) => listRuns(db, one, { page: 20, pageSize: 50 })],
    ['the last runs of several views', newestRuns, (db) => findLastRuns(db, [1, 2, 3, 17, one])],
    ['the newest run', newestRuns, (db) => findRun(db, followed)],
    ['the newest log lines of a view', newestLines, (db) => listLogs(db, one, {}, page)],
    ['the oldest log lines of a view', newestLines, (db) => listLogs(db, one, { order: 'ASC' }, page)],
    ['the log lines after a given one', newestLines, async (db) => listLines(db, followed, await lastLine())],
    ['the log lines of a run', linesOfRun, (db) => listLogs(db, one, { taskId: run.uid }, page)],
    ['the start key of the log lines of a run', linesOfRun, (db) => findStartKey(db, followed, run.id)],
    ['the check results of a run', /data_quality_results_check_key/, (db) => listCheckResults(db, one, run.uid, page)],
    ['the rejected rows of a run', /rejected_rows_run/, (db) => listRejectedRows(db, one, run.uid, page)],
    [
      'the capacity of an organisation',
      /runs_under_way/,
      (db) => claimRun(db, run.uid, { maxRuns: 4, mustWait: mustWaitForInputs(run.uid) }),
    ],
    [
      'the due workflows',
      /workflow_run_jobs_due[^]*workflow_run_jobs_running/,
      (db) => advanceDueWorkflows(db, stack.queue),
    ],
  ])('%s: uses an index and no sequential scan of a run table', async (_what, index, work) => {
    const plans = await plansOf(work)
    expect(plans.join('\n\n')).toMatch(index)
    for (const plan of plans) expect(readWhole(plan)).toEqual([])
  })

  const allObjects = sql`select id from runnables where client = ${client}`
  const fewObjects = sql`select id from runnables where client = ${client} and id % 50 = 0`
  const filters = { client, objects: allObjects }

  it.each([
    ['the newest runs of all objects', {}, {}],
    ['a later page of them', {}, { after: { created: new Date(), id: 1e9 } }],
    ['runs with a rare status since a time', { status: ['CANCELLED' as const] }, { since: new Date() }],
    ['runs with a rare trigger', { trigger: ['MANUAL' as const] }, {}],
  ])('%s: are read in index order without a sort of all runs', async (_what, filter, position) => {
    const [plan] = await plansOf((db) => listRunsOfObjects(db, { ...filters, ...filter }, { ...position, limit: 51 }))
    expect(readWhole(plan!)).toEqual([])
    expect(plan).toMatch(/Merge Append[^]*Index Scan using runs_client_newest/)
  })

  it('the newest runs of few objects are read by the index of each object', async () => {
    const { db, asked } = overheard(stack.db)
    await listRunsOfObjects(db, { ...filters, objects: fewObjects }, { limit: 51 })
    const analyzed = await analyzedPlanOf(asked[0]!)
    expect(analyzed).toMatch(/runs_runnable_newest .*rows=/)
    expect([...analyzed.matchAll(/runs_client_newest .*/g)].every(([line]) => line.includes('never executed'))).toBe(
      true,
    )
  })

  it('a page of the newest runs of all objects reads little more than the page', async () => {
    const { db, asked } = overheard(stack.db)
    await listRunsOfObjects(db, filters, { limit: 51 })
    const analyzed = await analyzedPlanOf(asked[0]!)
    expect(analyzed).toMatch(/runs_runnable_newest .*never executed/)
    const rows = [...analyzed.matchAll(/runs_client_newest .*actual rows=([\d.]+)/g)].map(([, count]) => Number(count))
    // The first run of each of six statuses, and the page.
    expect(rows.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(6 + 51)
  })

  it('changed runs are found by index', async () => {
    const { db, asked } = overheard(stack.db)
    using _changes = await watchRuns(db, { warn: () => {} }).subscribe(client)
    const plan = await planOf(stack.db, asked[0]!)
    expect(plan).toMatch(/runs_under_way|runs_client_newest/)
    expect(plan).toMatch(/runs_finished/)
    expect(readWhole(plan)).toEqual([])
  })

  it('a page of the newest runs or log lines is read in index order without a sort', async () => {
    const few = { page: 1, pageSize: 10 }
    for (const work of [(db: Kysely<DB>) => listRuns(db, one, few), (db: Kysely<DB>) => listLogs(db, one, {}, few)]) {
      const [plan] = await plansOf(work)
      expect(plan).toMatch(/Limit/)
      expect(plan).not.toMatch(/Sort +\(cost/)
    }
  })

  it('due schedules and their organisations are found by index', async () => {
    const { db, asked } = overheard(stack.db)
    const scheduler = virtualScheduler({ ...stack, db }, '2026-11-23T00:00:03Z')
    await scheduler.start()
    const due = asked.filter((query) => /next_run_at <= /.test(query.sql))
    expect(due.length).toBeGreaterThanOrEqual(2)
    for (const query of due) {
      const plan = await planOf(stack.db, query)
      expect(plan).toMatch(/runnables_due/)
      expect(plan).not.toMatch(/Seq Scan/)
    }
  })
})
