import type { ClientSummary } from '@sluice/contracts'
import { type Kysely, type Selectable, sql, type Transaction } from 'kysely'
import type { DB, Runnables } from '../../database.ts'
import { failpoint } from '../failpoints.ts'
import type { RunnableKind } from '../runs/runnable.ts'
import { startRun } from '../runs/start-run.ts'
import { nextRun } from './next-run.ts'
import { reckoned } from './plan-runs.ts'
import { scheduleOf } from './schedule.ts'
import type { Clock, SchedulerParts } from './scheduler.ts'
import { leftOut, standsFor, tellRun } from './tell-run.ts'
import { ticksDue } from './ticks-due.ts'
import { type Plan, writePlans } from './write-plans.ts'

type Parts = SchedulerParts & { clock: Clock; signal: AbortSignal }
type Row = Selectable<Runnables>

/** Rows that one transaction holds: others pass over them meanwhile, and as many are begun anew when its scheduler is killed. */
const batch = 20
/** Clients that are looked up before one series of batches. */
const mostClients = 1_000
/** Milliseconds until what could not be started is tried again. */
const again = 15_000

/**
 * Starts a run of everything that is due, in as many transactions as it takes. A run, its job and the next time of its schedule commit
 * together: whoever is killed in the middle has started nothing, and another scheduler does it.
 */
export async function startDue(parts: Parts): Promise<void> {
  const { db, clock, signal } = parts
  for (;;) {
    const waiting = await clientsWaiting(db, await clock(db))
    if (waiting.length === 0) return
    // Nobody can tell while the identity service is away: then what was asked for is done.
    const standing = await parts.clients(waiting).catch(() => undefined)
    let started: number
    let all = 0
    do {
      if (signal.aborted) return
      started = await db.transaction().execute((trx) => startBatch(trx, parts, waiting, standing))
      if (started > 0) await failpoint('schedule-committed')
      all += started
    } while (started === batch)
    // What is left is in the hands of other schedulers.
    if (waiting.length < mostClients || all === 0) return
  }
}

const isDue = (now: Date) => sql<boolean>`
  planned and not disabled and next_run_at <= ${now} and (not_before is null or not_before <= ${now})`

async function clientsWaiting(db: Kysely<DB>, now: Date): Promise<string[]> {
  const rows = await db
    .selectFrom('runnables')
    .select('client')
    .distinct()
    .where(isDue(now))
    .limit(mostClients)
    .execute()
  return rows.map(({ client }) => client)
}

async function startBatch(
  trx: Transaction<DB>,
  parts: Parts,
  clients: string[],
  standing: ReadonlyMap<string, ClientSummary> | undefined,
): Promise<number> {
  const now = await parts.clock(trx)
  const rows = await trx
    .selectFrom('runnables')
    .selectAll()
    .where(isDue(now))
    .where(sql<boolean>`client = any(${clients}::uuid[])`)
    .orderBy('next_run_at')
    .orderBy('id')
    .limit(batch)
    .forNoKeyUpdate()
    .skipLocked()
    .execute()
  if (rows.length === 0) return 0
  await failpoint('schedule-locked')
  const plans: Plan[] = []
  for (const row of rows) {
    const client = standing?.get(row.client)
    const stands = standing === undefined || (client !== undefined && !client.disabled && client.pipelinesEnabled)
    plans.push(await startOne(trx, parts, row, now.getTime(), stands))
  }
  await failpoint('schedule-started')
  await writePlans(trx, plans)
  return rows.length
}

/** One that cannot be started must not keep others from it: it is tried again, and its tick stays due. */
async function startOne(trx: Transaction<DB>, parts: Parts, row: Row, now: number, stands: boolean): Promise<Plan> {
  const { logger, metrics } = parts
  const subject = { kind: row.kind, subject: row.uid, client: row.client }
  const later = { ...planOf(row), notBefore: now + again }
  const schedule = scheduleOf(row)
  const zone = row.zone ?? 'UTC'
  const due = reckonedDue()
  if (due === undefined) return { id: row.id, zone }
  const next: Plan = { id: row.id, zone, ...nextRun(schedule, zone, now) }
  if (!stands) {
    metrics.ticks.inc({ outcome: 'SKIPPED' }, due.missed + 1)
    logger.info(subject, 'nothing is started for a client that is disabled or gone')
    return next
  }
  const full = !row.continuously_updated || (row.next_full_run_at !== null && row.next_full_run_at.getTime() <= now)
  try {
    await sql`savepoint one`.execute(trx)
    const { run, existing } = await startRun(
      trx,
      parts.queue,
      { id: row.id, client: row.client, kind: row.kind as RunnableKind },
      {
        trigger: 'SCHEDULE',
        mode: full ? 'FULL' : 'INCREMENTAL',
        scheduledFor: new Date(due.tick),
        createdBy: null,
      },
    )
    // An update does not do for a replacement: that begins when the update is over.
    if (existing && full && run.mode === 'INCREMENTAL') return later
    if (existing) await tellRun(trx, run, leftOut(due, zone))
    else if (due.missed > 0) await tellRun(trx, run, standsFor(due, row, zone))
    metrics.ticks.inc({ outcome: 'COALESCED' }, due.missed + (existing ? 1 : 0))
    if (!existing) metrics.ticks.inc({ outcome: 'STARTED' })
    if (!existing) metrics.late.observe(Math.max(0, now - due.tick) / 1000)
    return next
  } catch (error) {
    await sql`rollback to savepoint one`.execute(trx)
    logger.warn({ ...subject, err: error }, 'a schedule could not start its run; it is tried again')
    return later
  }

  function reckonedDue() {
    let due: ReturnType<typeof ticksDue> | undefined
    reckoned(
      () => ((due = ticksDue(schedule, zone, row.next_run_at!.getTime(), now)), {}),
      (problem) => logger.warn({ ...subject, reason: problem.message }, 'a schedule cannot be kept'),
    )
    return due
  }
}

const planOf = (row: Row): Plan => ({
  id: row.id,
  zone: row.zone ?? 'UTC',
  run: row.next_run_at!.getTime(),
  ...(row.next_full_run_at && { full: row.next_full_run_at.getTime() }),
})
