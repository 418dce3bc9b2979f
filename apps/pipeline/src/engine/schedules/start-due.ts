import type { ClientSummary } from '@sluice/contracts'
import { type Kysely, type Selectable, sql, type Transaction } from 'kysely'
import type { DB, Runnables } from '../../database.ts'
import { failpoint } from '../failpoints.ts'
import { type CollectingQueue, collectingQueue } from '../queue/collecting-queue.ts'
import { runTransaction, wasLetGo } from '../runs/run-transaction.ts'
import type { Clock, SchedulerParts } from './scheduler.ts'
import { held, type Outcome, startOne, subjectOf } from './start-one.ts'
import { writePlans } from './write-plans.ts'

type Parts = SchedulerParts & { clock: Clock; signal: AbortSignal }
type Row = Selectable<Runnables>
/** Of clients that exist; undefined while the identity service cannot say. */
type Standing = ReadonlyMap<string, ClientSummary> | undefined

/** Rows that one transaction holds: others pass over them meanwhile, and as many are begun anew when its scheduler is killed. */
const batch = 20
/** Clients that are looked up before one series of batches. */
const mostClients = 1_000

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
      started = await startBatch(parts, waiting, standing)
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

/** Once it is committed. */
function measure({ ticks, late }: SchedulerParts['metrics'], outcome: Outcome): void {
  if (outcome.late !== undefined) ticks.inc({ outcome: 'STARTED' })
  if (outcome.late !== undefined) late.observe(outcome.late)
  if (outcome.coalesced) ticks.inc({ outcome: 'COALESCED' }, outcome.coalesced)
  if (outcome.skipped) ticks.inc({ outcome: 'SKIPPED' }, outcome.skipped)
}

/** All at once; where one of them cannot be started, once more with a way back before each. */
async function startBatch(parts: Parts, clients: string[], standing: Standing): Promise<number> {
  const together = async (careful: boolean) => {
    const { rows, outcomes } = await runTransaction(parts.db, (trx) =>
      startTogether(trx, parts, clients, standing, careful),
    )
    for (const outcome of outcomes) measure(parts.metrics, outcome)
    return rows
  }
  try {
    return await together(false)
  } catch (error) {
    parts.logger.debug({ err: error }, 'schedules are started one by one')
    return together(true)
  }
}

async function startTogether(
  trx: Transaction<DB>,
  parts: Parts,
  clients: string[],
  standing: Standing,
  careful: boolean,
): Promise<{ rows: number; outcomes: Outcome[] }> {
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
  if (rows.length === 0) return { rows: 0, outcomes: [] }
  await failpoint('schedule-locked')
  const queue = collectingQueue(parts.queue)
  const outcomes: Outcome[] = []
  for (const row of rows) {
    const client = standing?.get(row.client)
    const stands = standing === undefined || (client !== undefined && !client.disabled && client.pipelinesEnabled)
    const start = () => startOne(trx, { ...parts, queue }, row, now.getTime(), stands)
    outcomes.push(careful ? await withWayBack(trx, parts, queue, row, now.getTime(), start) : await start())
  }
  await queue.sendAll(trx)
  await failpoint('schedule-started')
  await writePlans(
    trx,
    outcomes.map(({ plan }) => plan),
  )
  return { rows: rows.length, outcomes }
}

/** One that cannot be started must not keep others from it: it is tried again, and its tick stays due. */
async function withWayBack(
  trx: Transaction<DB>,
  { logger }: Parts,
  queue: CollectingQueue,
  row: Row,
  now: number,
  start: () => Promise<Outcome>,
): Promise<Outcome> {
  const length = queue.length()
  await sql`savepoint one`.execute(trx)
  try {
    return await start()
  } catch (error) {
    // It is no fault of this one: all begin again.
    if (wasLetGo(error)) throw error
    await sql`rollback to savepoint one`.execute(trx)
    queue.forgetBehind(length)
    logger.warn({ ...subjectOf(row), err: error }, 'a schedule could not start its run; it is tried again')
    return held(row, now)
  }
}
