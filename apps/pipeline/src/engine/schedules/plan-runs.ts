import type { Kysely, Selectable, Transaction } from 'kysely'
import type { DB, Runnables } from '../../database.ts'
import { failpoint } from '../failpoints.ts'
import { runTransaction } from '../runs/run-transaction.ts'
import { CronProblem } from './cron.ts'
import { nextRun, type NextRun } from './next-run.ts'
import { scheduleOf } from './schedule.ts'
import type { Clock, SchedulerParts } from './scheduler.ts'
import { type Plan, writePlans } from './write-plans.ts'
import { isZone } from './wall-clock.ts'

type Parts = SchedulerParts & { clock: Clock; signal: AbortSignal }

const page = 500

/** Gives their next times to schedules that are new or were changed. Those of clients whose zone nobody knows just now wait. */
export async function planRuns(parts: Parts): Promise<void> {
  for (let last = 0; !parts.signal.aborted; ) {
    const found = await parts.db
      .selectFrom('runnables')
      .select(['id', 'client'])
      .where('planned', '=', false)
      .where('id', '>', last)
      .orderBy('id')
      .limit(page)
      .execute()
    if (found.length === 0) return
    const zones = await zonesOf(parts, [...new Set(found.map(({ client }) => client))])
    const ready = found.filter(({ client }) => zones.has(client)).map(({ id }) => id)
    if (ready.length > 0) await runTransaction(parts.db, (trx) => plan(trx, parts, ready, zones))
    if (found.length < page) return
    last = found.at(-1)!.id
  }
}

async function plan(
  trx: Transaction<DB>,
  { clock, logger }: Parts,
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
    const next = reckoned(
      () => nextRun(scheduleOf(row), zone, now),
      (problem) =>
        logger.warn({ kind: row.kind, subject: row.uid, reason: problem.message }, 'a schedule cannot be kept'),
    )
    return { id: row.id, zone, ...next, ...stillDue(row, next, now) }
  })
  await failpoint('schedule-planned')
  await writePlans(trx, plans)
}

/** What was due before the schedule was changed, and was not started yet, is not forgotten while there is one. */
function stillDue(row: Selectable<Runnables>, next: NextRun, now: number): NextRun {
  const kept = (old: Date | null, planned: number | undefined) =>
    old !== null && old.getTime() <= now && planned !== undefined ? old.getTime() : undefined
  const run = kept(row.next_run_at, next.run)
  const full = kept(row.next_full_run_at, next.full)
  return { ...(run !== undefined && { run }), ...(full !== undefined && { full }) }
}

/** Stored by an older version, which believed any expression: it never runs, until somebody mends it. */
export function reckoned(reckon: () => NextRun, refused: (problem: CronProblem) => void): NextRun {
  try {
    return reckon()
  } catch (error) {
    if (!(error instanceof CronProblem)) throw error
    refused(error)
    return {}
  }
}

/** While the identity service is away, clients stay in the zones that they were last known to be in. */
async function zonesOf({ db, clients, logger }: Parts, uids: string[]): Promise<Map<string, string>> {
  try {
    const found = await clients(uids)
    // A client that is gone keeps no time; when it is due, nothing is started.
    return new Map(uids.map((uid) => [uid, known(found.get(uid)?.timeZone ?? 'UTC')]))
  } catch (error) {
    logger.debug({ err: error }, 'the zones of clients are not to be had')
    return knownZones(db, uids)
  }

  /** One that this runtime has no rules for, while the identity service's has. */
  function known(zone: string): string {
    if (isZone(zone)) return zone
    logger.warn({ zone }, 'an unknown time zone is taken for UTC')
    return 'UTC'
  }
}

async function knownZones(db: Kysely<DB>, uids: string[]): Promise<Map<string, string>> {
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
