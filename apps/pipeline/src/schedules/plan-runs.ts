import { type Kysely, type Selectable, type Transaction, sql } from 'kysely'
import type { DB, Runnables } from '../database.ts'
import { failpoint } from '@sluice/process'
import { runTransaction } from '../runs/run-transaction.ts'
import { CronProblem } from './parse-cron.ts'
import { type NextRun, computeNextRun } from './next-run.ts'
import { toSchedule } from './schedule.ts'
import type { SchedulerContext } from './scheduler-context.ts'
import { isKnownZone } from './wall-clock.ts'

const pageSize = 500

/**
 * Computes the next runs of new and changed schedules. Schedules of organisations with unknown time zones wait for a
 * later round.
 */
export async function planRuns(context: SchedulerContext): Promise<void> {
  let lastId = 0
  while (!context.signal.aborted) {
    const scheduledObjects = await context.db
      .selectFrom('runnables')
      .select(['id', 'client'])
      .where('planned', '=', false)
      .where('id', '>', lastId)
      .orderBy('id')
      .limit(pageSize)
      .execute()
    if (scheduledObjects.length === 0) return
    const zones = await readZones(context, [...new Set(scheduledObjects.map(({ client }) => client))])
    const idsWithZone = scheduledObjects.filter(({ client }) => zones.has(client)).map(({ id }) => id)
    if (idsWithZone.length > 0) await runTransaction(context.db, (trx) => planLocked(trx, context, idsWithZone, zones))
    if (scheduledObjects.length < pageSize) return
    lastId = scheduledObjects.at(-1)!.id
  }
}

/**
 * Locks the objects with these ids and plans their next runs. Skips objects that another worker has locked or planned.
 */
async function planLocked(
  trx: Transaction<DB>,
  { clock, logger }: SchedulerContext,
  ids: number[],
  zones: ReadonlyMap<string, string>,
): Promise<void> {
  const rows = await trx
    .selectFrom('runnables')
    .selectAll()
    .where('id', 'in', ids)
    .where('planned', '=', false)
    .forNoKeyUpdate()
    .skipLocked()
    .execute()
  const now = (await clock(trx)).getTime()
  const plans = rows.map((row): Plan => {
    const zone = zones.get(row.client)!
    const nextRun = computeNextRunOrDisable(
      () => computeNextRun(toSchedule(row), zone, now),
      (problem) => logger.warn({ kind: row.kind, subject: row.uid, reason: problem.message }, 'a schedule is invalid'),
    )
    // A run that was due before the schedule changed still starts, so its time replaces that of the next run.
    const overdueRun = findOverdueRuns(row, nextRun, now)
    return { id: row.id, zone, ...nextRun, ...overdueRun }
  })
  await failpoint('schedule-planned')
  await writePlans(trx, plans)
}

/**
 * Returns the overdue times that a changed schedule keeps, so that these runs still start. Omits a time if the new
 * schedule has no run of that kind (`run` or `full`).
 */
function findOverdueRuns(row: Selectable<Runnables>, next: NextRun, now: number): NextRun {
  const findOverdue = (stored: Date | null, planned: number | undefined) =>
    stored !== null && stored.getTime() <= now && planned !== undefined ? stored.getTime() : undefined
  const run = findOverdue(row.next_run_at, next.run)
  const full = findOverdue(row.next_full_run_at, next.full)
  return { ...(run !== undefined && { run }), ...(full !== undefined && { full }) }
}

/**
 * Computes the next run. Returns no run if the stored expression is invalid, because older versions stored expressions
 * without validation.
 */
export function computeNextRunOrDisable(compute: () => NextRun, onInvalid: (problem: CronProblem) => void): NextRun {
  try {
    return compute()
  } catch (error) {
    if (!(error instanceof CronProblem)) throw error
    onInvalid(error)
    return {}
  }
}

/** Returns the time zones of organisations. If the identity service is unavailable, returns the last known zones. */
async function readZones({ db, clients, logger }: SchedulerContext, uids: string[]): Promise<Map<string, string>> {
  try {
    const clientsByUid = await clients(uids)
    // The zone of a deleted organisation does not matter, because its schedules start no runs.
    return new Map(uids.map((uid) => [uid, toKnownZone(clientsByUid.get(uid)?.timeZone ?? 'UTC')]))
  } catch (error) {
    logger.debug({ err: error }, 'the zones of clients cannot be read')
    return readLastZones(db, uids)
  }

  /** Replaces a zone that this process does not know, because the identity service has a newer zone database. */
  function toKnownZone(zone: string): string {
    if (isKnownZone(zone)) return zone
    logger.warn({ zone }, 'unknown time zone; UTC is used')
    return 'UTC'
  }
}

/** Returns the time zones with which the schedules of these organisations were planned. */
async function readLastZones(db: Kysely<DB>, uids: string[]): Promise<Map<string, string>> {
  const rows = await db
    .selectFrom('runnables')
    .select(['client', 'zone'])
    .distinctOn('client')
    .where('client', 'in', uids)
    .where('zone', 'is not', null)
    .orderBy('client')
    .execute()
  return new Map(rows.map(({ client, zone }) => [client, zone!]))
}

/** The next runs of one object. If `run` is undefined, only users and workflows start the object. */
export interface Plan extends NextRun {
  id: number
  zone: string
  /** The earliest start in milliseconds, even if a run is due before. */
  notBefore?: number
}

/** Stores the next runs of objects. The transaction must hold locks on their rows. */
export async function writePlans(trx: Transaction<DB>, plans: readonly Plan[]): Promise<void> {
  if (plans.length === 0) return
  const rows = plans.map(({ id, zone, run, full, notBefore }) => {
    return { id, zone, run: toIsoText(run), full: toIsoText(full), not_before: toIsoText(notBefore) }
  })
  await sql`
    update runnables r
    set planned = true, zone = p.zone, next_run_at = p.run, next_full_run_at = p.full, not_before = p.not_before
    from json_to_recordset(${JSON.stringify(rows)})
           as p (id bigint, zone text, run timestamptz, "full" timestamptz, not_before timestamptz)
    where r.id = p.id
  `.execute(trx)
}

const toIsoText = (milliseconds: number | undefined) =>
  milliseconds === undefined ? undefined : new Date(milliseconds).toISOString()
