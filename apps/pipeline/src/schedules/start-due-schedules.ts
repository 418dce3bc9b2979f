import type { ClientSummary } from '@sluice/contracts'
import { type Kysely, type Selectable, type Transaction, sql } from 'kysely'
import type { DB, Runnables } from '../database.ts'
import { failpoint } from '@sluice/process'
import { runTransaction, isSerializationFailure } from '../runs/run-transaction.ts'
import type { JobQueue, QueuedRun } from '../queue/job-queue.ts'
import { writePlans } from './plan-runs.ts'
import type { SchedulerContext } from './scheduler-context.ts'
import { scheduleLogFields, postponeStart, type StartOutcome, startScheduledRun } from './start-scheduled-run.ts'

type ScheduledRow = Selectable<Runnables>
/** The organisations that exist, by uid; undefined if the identity service is unavailable. */
type ClientsByUid = ReadonlyMap<string, ClientSummary> | undefined

/**
 * Rows per transaction. Other schedulers skip these rows during the transaction. If a scheduler is killed, only these
 * rows must start again.
 */
const schedulesPerBatch = 20
/** The maximum number of organisations that are looked up before a series of batches. */
const maxClients = 1_000

/**
 * Starts a run for every due schedule, in several transactions. A run, its job and the schedule's next time are
 * committed together. If a scheduler is killed, no run is half started, and another scheduler starts the rest.
 */
export async function startDueSchedules(context: SchedulerContext): Promise<void> {
  const { db, clock, signal } = context
  for (;;) {
    const uids = await listClientsWithDueSchedules(db, await clock(db))
    if (uids.length === 0) return
    const startedCount = await startSchedulesOf(uids, context)
    const mayHaveMoreClients = uids.length === maxClients
    // If no run was started, other schedulers have locked the remaining schedules.
    const hasStartedNone = startedCount === 0
    if (!mayHaveMoreClients || hasStartedNone || signal.aborted) return
  }
}

/** Starts the due schedules of these organisations in batches. Returns the number of processed schedules. */
async function startSchedulesOf(uids: string[], context: SchedulerContext): Promise<number> {
  // If the identity service is unavailable, assume that the organisations are active.
  const clients = await context.clients(uids).catch(() => undefined)
  let total = 0
  while (!context.signal.aborted) {
    const batchCount = await startBatch(context, uids, clients)
    if (batchCount > 0) await failpoint('schedule-committed')
    total += batchCount
    if (batchCount < schedulesPerBatch) break
  }
  return total
}

const isDue = (now: Date) => sql<boolean>`
  planned and not disabled and next_run_at <= ${now} and (not_before is null or not_before <= ${now})`

/** Returns up to `maxClients` organisations with schedules that are due. */
async function listClientsWithDueSchedules(db: Kysely<DB>, now: Date): Promise<string[]> {
  const rows = await db
    .selectFrom('runnables')
    .select('client')
    .distinct()
    .where(isDue(now))
    .limit(maxClients)
    .execute()
  return rows.map(({ client }) => client)
}

/** Records the metrics of a start. Call it after the commit, because a rollback does not undo metrics. */
function recordMetrics({ ticks, late }: SchedulerContext['metrics'], outcome: StartOutcome): void {
  if (outcome.lateSeconds !== undefined) ticks.inc({ outcome: 'STARTED' })
  if (outcome.lateSeconds !== undefined) late.observe(outcome.lateSeconds)
  if (outcome.coalesced) ticks.inc({ outcome: 'COALESCED' }, outcome.coalesced)
  if (outcome.skipped) ticks.inc({ outcome: 'SKIPPED' }, outcome.skipped)
}

/**
 * Starts a batch of runs in one transaction, and returns the number of processed schedules. If one start fails, repeats
 * the batch with a savepoint before each start.
 */
async function startBatch(context: SchedulerContext, uids: string[], clients: ClientsByUid): Promise<number> {
  const start = async (options: { withSavepoints: boolean }) => {
    const { rows, outcomes } = await runTransaction(context.db, (trx) =>
      startRows(trx, context, uids, clients, options),
    )
    for (const outcome of outcomes) recordMetrics(context.metrics, outcome)
    return rows
  }
  try {
    return await start({ withSavepoints: false })
  } catch (error) {
    context.logger.debug({ err: error }, 'a batch could not start; each schedule is retried alone')
    return start({ withSavepoints: true })
  }
}

/**
 * Starts the runs of at most `schedulesPerBatch` due schedules that other schedulers have not locked, and stores their
 * next times. Returns the number of schedules and the outcome of each.
 */
async function startRows(
  trx: Transaction<DB>,
  context: SchedulerContext,
  uids: string[],
  clients: ClientsByUid,
  { withSavepoints }: { withSavepoints: boolean },
): Promise<{ rows: number; outcomes: StartOutcome[] }> {
  const now = await context.clock(trx)
  const rows = await lockDueSchedules(trx, uids, now)
  if (rows.length === 0) return { rows: 0, outcomes: [] }
  await failpoint('schedule-locked')
  const queue = createCollectingQueue(context.queue)
  const outcomes: StartOutcome[] = []
  for (const row of rows) {
    const isActive = isClientActive(row.client, clients)
    const start = () => startScheduledRun(trx, { ...context, queue }, row, now.getTime(), isActive)
    outcomes.push(withSavepoints ? await withSavepoint(trx, context, queue, row, now.getTime(), start) : await start())
  }
  await queue.sendAll(trx)
  await failpoint('schedule-started')
  await writePlans(
    trx,
    outcomes.map(({ plan }) => plan),
  )
  return { rows: rows.length, outcomes }
}

/** Locks and returns up to `schedulesPerBatch` due schedules. Skips schedules that other schedulers have locked. */
function lockDueSchedules(trx: Transaction<DB>, uids: string[], now: Date): Promise<ScheduledRow[]> {
  return trx
    .selectFrom('runnables')
    .selectAll()
    .where(isDue(now))
    .where(sql<boolean>`client = any(${uids}::uuid[])`)
    .orderBy('next_run_at')
    .orderBy('id')
    .limit(schedulesPerBatch)
    .forNoKeyUpdate()
    .skipLocked()
    .execute()
}

/** Returns whether an organisation exists and may run pipelines. Returns true if that is unknown. */
function isClientActive(uid: string, clients: ClientsByUid): boolean {
  if (clients === undefined) return true
  const client = clients.get(uid)
  return client !== undefined && !client.disabled && client.pipelinesEnabled
}

/**
 * Starts a run after setting a savepoint. If the start fails, rolls back to the savepoint, so that the other schedules
 * still start. The failed schedule stays due and is retried. Rethrows serialization failures.
 */
async function withSavepoint(
  trx: Transaction<DB>,
  { logger }: SchedulerContext,
  queue: CollectingQueue,
  row: ScheduledRow,
  now: number,
  start: () => Promise<StartOutcome>,
): Promise<StartOutcome> {
  const queuedBefore = queue.length()
  await sql`savepoint one`.execute(trx)
  try {
    return await start()
  } catch (error) {
    // Rethrow the error, because the whole transaction must be repeated.
    if (isSerializationFailure(error)) throw error
    await sql`rollback to savepoint one`.execute(trx)
    queue.truncate(queuedBefore)
    logger.warn({ ...scheduleLogFields(row), err: error }, 'a schedule could not start its run; the start is retried')
    return postponeStart(row, now)
  }
}

/** A queue that collects the runs of one transaction and then adds them to the real queue with one statement. */
interface CollectingQueue extends JobQueue {
  length(): number
  /** Removes all runs after the first `length`, because the transaction was rolled back to a savepoint. */
  truncate(length: number): void
  /** Adds the collected runs to the real queue. */
  sendAll(trx: Transaction<DB>): Promise<void>
}

/**
 * Returns a queue that collects runs and sends all of them at `sendAll`. `truncate` removes the runs that were added
 * after the queue had this length.
 */
function createCollectingQueue(queue: JobQueue): CollectingQueue {
  const runs: QueuedRun[] = []
  return {
    ...queue,
    send: async (_trx, { uid, client }) => void runs.push({ uid, client }),
    length: () => runs.length,
    truncate: (length) => void runs.splice(length),
    async sendAll(trx) {
      if (runs.length > 0) await queue.sendMissing(trx, runs)
    },
  }
}
