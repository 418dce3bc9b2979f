import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { Parts, Report } from './measure.ts'
import { dyingWorkers, steadyWorkers } from './workers.ts'

const many = 1_000
/** Seconds. */
const wanted = 60
const mostSeconds = 300

/** How soon the runs are there that many schedules ask for at once, and whether each is there, once. */
export async function* dueSchedules({ installation }: Parts): AsyncGenerator<Report> {
  const seed = process.env['BENCH_SEED'] ?? randomBytes(4).toString('hex')
  const db = new pg.Client({ connectionString: installation.databaseUrl('pipeline') })
  db.on('error', () => {})
  await db.connect()
  // Two workers, and no third: this one stands still meanwhile.
  process.kill(installation.workerPid, 'SIGSTOP')
  try {
    const { client, id } = installation.schema
    const calm = await makeSchedules(db, client, id, 'calm')
    let inPeace: Outcome
    {
      await using _workers = await steadyWorkers(installation.environment, 2)
      inPeace = await comeDue(db, calm)
    }
    const stormy = await makeSchedules(db, client, id, 'stormy')
    console.log(`            BENCH_SEED=${seed}`)
    let killed: Outcome
    let kills: number
    {
      await using workers = dyingWorkers(installation.environment, 2, seed)
      killed = await comeDue(db, stormy)
      kills = workers.kills()
    }
    const row = (what: string, { half, all, lost, twice }: Outcome) => [what, half, all, String(lost), String(twice)]
    const target = (text: string, value: number, limit: number, unit: string) => ({ text, value, limit, unit })
    const whileKilled = `while both were killed at random, ${kills} times in all (seed ${seed})`
    yield {
      title: `${many.toLocaleString('en')} schedules that are due at once, on two workers`,
      head: ['what', 'half of the runs, s', 'all, s', 'lost', 'twice'],
      rows: [row('in peace', inPeace), row(whileKilled, killed)],
      targets: [
        target('all runs are there, in peace', inPeace.all, wanted, 's'),
        target('all runs are there, while schedulers are killed', killed.all, wanted, 's'),
        target(
          'ticks without a run, or with two',
          inPeace.lost + inPeace.twice + killed.lost + killed.twice,
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

/** Pipelines that run each midnight, planned for the one to come; answers the condition that finds them. */
async function makeSchedules(db: pg.Client, client: string, schema: string, name: string): Promise<string> {
  await db.query(
    `insert into data_pipelines (client, name, type, disabled, run_trigger, schema_id, table_name, public_access)
     select $1, 'Due ${name} ' || i, 'CSV_UPLOAD', false, 'EVERY_DAY_0AM', (select id from schemas where uid = $2),
       'due_${name}_' || i, 'READ'
     from generate_series(1, ${many}) i`,
    [client, schema],
  )
  const these = `name like 'Due ${name} %' and kind = 'DATA_PIPELINE'`
  await db.query(
    `update runnables set planned = true, zone = 'UTC',
       next_run_at = date_trunc('day', now() at time zone 'UTC') at time zone 'UTC' + interval '1 day'
     where ${these}`,
  )
  return these
}

interface Outcome {
  /** Seconds until half of the runs were there, and all of them. */
  half: number
  all: number
  /** Ticks that no run was made for, and those that have more than one. */
  lost: number
  twice: number
}

async function comeDue(db: pg.Client, these: string): Promise<Outcome> {
  const began = performance.now()
  const seconds = () => (performance.now() - began) / 1_000
  await db.query(
    `update runnables set next_run_at = date_trunc('day', now() at time zone 'UTC') at time zone 'UTC' where ${these}`,
  )
  let half = Number.NaN
  for (;;) {
    const { rows } = await db.query(
      `select count(*)::int as ticks, count(*) filter (where runs = 0)::int as lost, count(*) filter (where runs > 1)::int as twice
       from (select (select count(*) from runs r where r.runnable_id = s.id and r.trigger = 'SCHEDULE') as runs
             from runnables s where ${these}) counted`,
    )
    const { ticks, lost, twice } = rows[0] as { ticks: number; lost: number; twice: number }
    if (ticks !== many) throw new Error(`There are ${ticks} schedules instead of ${many}.`)
    if (Number.isNaN(half) && lost <= many / 2) half = seconds()
    if (lost === 0 || seconds() > mostSeconds) {
      const all = seconds()
      // Whoever was about to start one a second time has done so by then.
      await sleep(5_000)
      const again = await db.query(
        `select count(*)::int as twice from (
           select r.runnable_id from runs r join runnables s on s.id = r.runnable_id
           where ${these.replace('name', 's.name').replace('kind', 's.kind')} group by r.runnable_id having count(*) > 1) twice`,
      )
      return { half, all, lost, twice: Math.max(twice, again.rows[0].twice) }
    }
    await sleep(50)
  }
}
