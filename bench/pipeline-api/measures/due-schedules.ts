import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { BenchContext, MeasureReport } from './measure.ts'
import { startCrashingWorkers, startWorkers } from './bench-workers.ts'

const scheduleCount = 1_000
/** Seconds. */
const targetSeconds = 60
const timeoutSeconds = 300

/**
 * Measures how soon many schedules that come due at the same moment have their runs, and whether each has exactly one.
 */
export async function* dueSchedules({ installation }: BenchContext): AsyncGenerator<MeasureReport> {
  const seed = process.env['BENCH_SEED'] ?? randomBytes(4).toString('hex')
  const db = new pg.Client({ connectionString: installation.databaseUrl('pipeline') })
  db.on('error', () => {})
  await db.connect()
  // Suspends the installation's own worker, so that exactly two workers run.
  process.kill(installation.workerPid, 'SIGSTOP')
  try {
    const { client, id } = installation.schema
    const undisturbedSchedules = await makeSchedules(db, client, id, 'undisturbed')
    let undisturbed: Outcome
    {
      await using _workers = await startWorkers(installation.environment, 2)
      undisturbed = await measureDueRuns(db, undisturbedSchedules)
    }
    const disturbedSchedules = await makeSchedules(db, client, id, 'disturbed')
    console.log(`            BENCH_SEED=${seed}`)
    let disturbed: Outcome
    let kills: number
    {
      await using workers = startCrashingWorkers(installation.environment, 2, seed)
      disturbed = await measureDueRuns(db, disturbedSchedules)
      kills = workers.kills()
    }
    const row = (label: string, { half, all, lost, duplicated }: Outcome) => [
      label,
      half,
      all,
      String(lost),
      String(duplicated),
    ]
    const target = (text: string, value: number, limit: number, unit: string) => ({ text, value, limit, unit })
    const whileKilled = `workers killed at random, ${kills} times (seed ${seed})`
    yield {
      title: `${scheduleCount.toLocaleString('en')} schedules that are due at once, on two workers`,
      head: ['measure', 'half of the runs, s', 'all, s', 'lost', 'twice'],
      rows: [row('undisturbed', undisturbed), row(whileKilled, disturbed)],
      targets: [
        target('all runs exist, undisturbed', undisturbed.all, targetSeconds, 's'),
        target('all runs exist, while workers are killed', disturbed.all, targetSeconds, 's'),
        target(
          'ticks without a run, or with two',
          undisturbed.lost + undisturbed.duplicated + disturbed.lost + disturbed.duplicated,
          0,
          'ticks',
        ),
      ],
    }
  } finally {
    process.kill(installation.workerPid, 'SIGCONT')
    await db.end()
  }
}

/**
 * Creates pipelines that run every midnight, planned for the next one. Returns the SQL condition that finds them. They
 * have no function, so their runs fail; pipelines of uploads without a file would have no runs at all.
 */
async function makeSchedules(db: pg.Client, client: string, schema: string, name: string): Promise<string> {
  await db.query(
    `insert into data_pipelines (client, name, type, disabled, run_trigger, schema_id, table_name, public_access)
     select $1, 'Due ${name} ' || i, 'FUNCTION', false, 'EVERY_DAY_0AM', (select id from schemas where uid = $2),
       'due_${name}_' || i, 'READ'
     from generate_series(1, ${scheduleCount}) i`,
    [client, schema],
  )
  const condition = `name like 'Due ${name} %' and kind = 'DATA_PIPELINE'`
  await db.query(
    `update runnables set planned = true, zone = 'UTC',
       next_run_at = date_trunc('day', now() at time zone 'UTC') at time zone 'UTC' + interval '1 day'
     where ${condition}`,
  )
  return condition
}

interface Outcome {
  /** Seconds until half of the runs and all runs existed. */
  half: number
  all: number
  /** Schedules without a run, and schedules with more than one. */
  lost: number
  duplicated: number
}

async function measureDueRuns(db: pg.Client, condition: string): Promise<Outcome> {
  const startedAt = performance.now()
  const seconds = () => (performance.now() - startedAt) / 1_000
  await db.query(
    `update runnables set next_run_at = date_trunc('day', now() at time zone 'UTC') at time zone 'UTC' where ${condition}`,
  )
  let half = Number.NaN
  for (;;) {
    const { rows } = await db.query(
      `select count(*)::int as ticks, count(*) filter (where runs = 0)::int as lost, count(*) filter (where runs > 1)::int as duplicated
       from (select (select count(*) from runs r where r.runnable_id = s.id and r.trigger = 'SCHEDULE') as runs
             from runnables s where ${condition}) counted`,
    )
    const { ticks, lost, duplicated } = rows[0] as { ticks: number; lost: number; duplicated: number }
    if (ticks !== scheduleCount) throw new Error(`There are ${ticks} schedules instead of ${scheduleCount}.`)
    if (Number.isNaN(half) && lost <= scheduleCount / 2) half = seconds()
    if (lost === 0 || seconds() > timeoutSeconds) {
      const all = seconds()
      // A worker that is about to start a duplicate run has done so after this time.
      await sleep(5_000)
      const again = await db.query(
        `select count(*)::int as duplicated from (
           select r.runnable_id from runs r join runnables s on s.id = r.runnable_id
           where ${condition.replace('name', 's.name').replace('kind', 's.kind')} group by r.runnable_id having count(*) > 1) duplicated`,
      )
      return { half, all, lost, duplicated: Math.max(duplicated, again.rows[0].duplicated) }
    }
    await sleep(50)
  }
}
