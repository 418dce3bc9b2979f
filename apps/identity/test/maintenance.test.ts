import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { decodeJwt } from 'jose'
import { sql } from 'kysely'
import { pino } from 'pino'
import { Registry } from '@sluice/process'
import { startMaintenance, runMaintenanceOnce } from '../src/maintenance/maintenance.ts'
import { listJobs, type MaintenanceJob } from '../src/maintenance/maintenance-jobs.ts'
import { readKeyRotation } from '../src/sign-in/tokens/key-rotation.ts'
import { auditOf, startService, type Service } from './app-under-test.ts'

let service: Service
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.stop())

const lines: string[] = []
/** Starts maintenance with these jobs. `intervalMs`: milliseconds between two rounds. */
const runJobs = (jobs: readonly MaintenanceJob[], metrics = new Registry(), every?: number) => ({
  metrics,
  maintenance: startMaintenance({
    db: service.db,
    logger: pino({}, { write: (line: string) => void lines.push(line) }),
    metrics,
    jobs,
    ...(every !== undefined && { intervalMs: every }),
  }),
})
/** The time of the last success of each job, in seconds since 1970. */
const lastSuccesses = async (metrics: Registry) =>
  new Map(
    (await metrics.getSingleMetric('identity_housekeeping_last_success_seconds')!.get()).values.map(
      ({ labels, value }) => [labels['task'], value],
    ),
  )

async function eventually(condition: () => boolean | Promise<boolean>) {
  while (!(await condition())) await sleep(20)
}

describe('a failing maintenance job', () => {
  it('does not stop other jobs, logs a warning, and records no time of success', async () => {
    const done: string[] = []
    const job = (name: string): MaintenanceJob => ({ name, run: async () => void done.push(name) })
    const broken: MaintenanceJob = { name: 'broken', run: () => sql`select 1 / 0`.execute(service.db) }
    const { metrics, maintenance } = runJobs([job('first'), broken, job('last')])
    await eventually(() => done.includes('last'))
    await maintenance.stop()
    expect(done).toEqual(['first', 'last'])
    const times = await lastSuccesses(metrics)
    expect([...times.keys()]).toEqual(['first', 'last'])
    expect(times.get('last')! * 1000).toBeGreaterThan(Date.now() - 60_000)
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ level: 40, task: 'broken' }])
  })

  it('runs again in the next round', async () => {
    let tries = 0
    const { maintenance } = runJobs(
      [{ name: 'broken', run: () => Promise.reject(new Error(`${(tries += 1)}`)) }],
      undefined,
      10,
    )
    await eventually(() => tries > 2)
    await maintenance.stop()
  })
})

it('maintenance runs in one process at a time, and stop waits for the running job', async () => {
  let [running, maxRunning, ended] = [0, 0, 0]
  const slow: MaintenanceJob = {
    name: 'slow',
    async run() {
      running += 1
      maxRunning = Math.max(maxRunning, running)
      await sleep(50)
      running -= 1
      ended += 1
    },
  }
  const [one, other] = [runJobs([slow], undefined, 1), runJobs([slow], undefined, 1)]
  await eventually(() => ended > 5)
  await eventually(() => running === 1)
  await Promise.all([one.maintenance.stop(), other.maintenance.stop()])
  expect([running, maxRunning]).toEqual([0, 1])
  const before = ended
  await sleep(120)
  expect(ended).toBe(before)
})

it('audit partitions and signing keys come first, and every job succeeds', async () => {
  const jobs = listJobs(readKeyRotation({ ...service.config, SECRET_KEYS: service.config.SECRET_KEYS }))
  expect(jobs.slice(0, 2).map(({ name }) => name)).toEqual(['audit-months', 'signing-keys'])
  const { metrics, maintenance } = runJobs(jobs)
  await eventually(async () => (await lastSuccesses(metrics)).size === jobs.length)
  await maintenance.stop()
})

it('expired rows are deleted in batches, and locked rows are skipped', async () => {
  const { uid } = await service.as([])
  await sql`
    insert into second_factor_tickets (ticket_hash, user_id, expires_at)
    select sha256(n::text::bytea), (select id from users where uid = ${uid}), now() - interval '1 minute' from generate_series(1, 1234) as n`.execute(
    service.db,
  )
  const left = async () => (await sql`select from second_factor_tickets`.execute(service.db)).rows.length
  await service.db.transaction().execute(async (trx) => {
    await sql`select from second_factor_tickets where ticket_hash = sha256('77'::bytea) for update`.execute(trx)
    await runMaintenanceOnce(service.db)
    expect(await left()).toBe(1)
  })
  await runMaintenanceOnce(service.db)
  expect(await left()).toBe(0)
})

it('the query for old sessions uses an index', async () => {
  const { rows } = await service.db.connection().execute(async (db) => {
    await sql`set enable_seqscan = off`.execute(db)
    const plan = await sql<{ 'QUERY PLAN': string }>`
      explain select id, user_id from sessions where coalesce(ended_at, expires_at) < now() - make_interval(days => 30)
      order by coalesce(ended_at, expires_at) limit 200`.execute(db)
    await sql`reset enable_seqscan`.execute(db)
    return plan
  })
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
  expect(plan).toContain('sessions_end')
})

describe('a used refresh token', () => {
  const refresh = (refreshToken: string) => service.http.post('/api/v1/auth/refresh').send({ refreshToken })
  const setUseTime = (hours: number) =>
    sql`update refresh_tokens set consumed_at = now() - make_interval(hours => ${hours}) where consumed_at is not null`.execute(
      service.db,
    )

  it('is deleted after a day; a later use is refused and writes nothing', async () => {
    const { tokens } = await service.as([])
    const session = decodeJwt(tokens.accessToken)['sid'] as string
    const { body: next } = await refresh(tokens.refreshToken).expect(200)
    await setUseTime(25)
    await runMaintenanceOnce(service.db)
    const before = await auditOf(service.db, session)
    await refresh(tokens.refreshToken).expect(401)
    expect(await auditOf(service.db, session)).toEqual(before)
    await refresh(next.refreshToken).expect(200)
  })

  it('is kept for a day, and a second use ends the session', async () => {
    const { tokens } = await service.as([])
    const { body: next } = await refresh(tokens.refreshToken).expect(200)
    await setUseTime(23)
    await runMaintenanceOnce(service.db)
    await refresh(tokens.refreshToken).expect(401)
    await refresh(next.refreshToken).expect(401)
  })
})
