import type { Logger } from '@sluice/process'
import { catalogueClient } from '../../catalogue-client.ts'
import { unmailed } from '../alerts/write-alerts.ts'
import { failpoint } from '../failpoints.ts'
import { LoadProblem } from '../loads/load-feeds.ts'
import type { Delivery } from '../queue/job-queue.ts'
import { type Claim, mostTries } from '../runs/claim.ts'
import { claimRun } from '../runs/claim.ts'
import { clientHasRoom } from '../runs/claim.ts'
import { finishRun } from '../run-lifecycle/finish-run.ts'
import { giveBackRun, type Reason } from '../runs/claim.ts'
import { openRunLog, type RunLog } from '../runs/run-log.ts'
import { type Pulse, startPulse, type Totals } from '../runs/heartbeat.ts'
import { runTransaction } from '../runs/run-transaction.ts'
import { storable } from '../runs/run-log.ts'
import { LostRun } from '../lost-run.ts'
import { inputsComeFirst } from '../views/inputs.ts'
import { backoff, failureOf, firstError } from './failure.ts'
import { correctCancelled, publishedAlready } from './run-handlers.ts'
import type { Attempt, Success, WorkParts } from './run-handler.ts'
import { works } from './run-handlers.ts'

/** The worker was told to stop: the run goes back to the queue. */
export class HandedBack extends Error {
  override readonly name = 'HandedBack'
}

/**
 * How an attempt ended. REFUSED: there was nothing to do. DEFERRED: its client has enough runs at work, the free slot is kept for
 * another client, or what it reads is made first. LOST: somebody else decides about the run.
 */
export type Ending = 'OK' | 'WARNING' | 'FAILED' | 'AGAIN' | 'HANDED_BACK' | 'LOST' | 'REFUSED' | 'DEFERRED'

export interface Ended {
  ending: Ending
  claim?: Claim
  success?: Success
}

/** Milliseconds. The queue takes a run away after 24 hours. */
const longestAttempt = 23.5 * 3_600_000

/** Milliseconds since a run was asked for in which it waits for what is away without using up its tries. */
const longestWait = 24 * 3_600_000

interface Context {
  parts: WorkParts & { logger: Logger }
  delivery: Delivery
  claim: Claim
  log: RunLog
  pulse: Pulse
}

/**
 * One attempt at a run, from claim to end. `stopping` aborts with `HandedBack`. Throws only when the service's own
 * database does not take the ending, or the warehouse cannot tell what a cancelled run has published; the queue then
 * delivers the run again.
 */
export async function executeRun(parts: Context['parts'], delivery: Delivery, stopping: AbortSignal): Promise<Ended> {
  const { db, redaction } = parts
  if (stopping.aborted) {
    await db.transaction().execute((trx) => delivery.again(trx, 0))
    return { ending: 'HANDED_BACK' }
  }
  using slot = parts.slots.tryAcquire(delivery.client)
  const claim = await takeUp(parts, delivery, slot !== undefined)
  if (claim === 'DEFERRED') return { ending: 'DEFERRED' }
  if (!claim) {
    await correctCancelled(parts, delivery.run)
    return { ending: 'REFUSED' }
  }
  parts.logger.debug({ run: claim.uid, attempt: claim.attempt }, 'a run is taken up')
  await failpoint('claimed')

  await using log = await openRunLog(db, claim, redaction)
  const ended = new AbortController()
  const signal = AbortSignal.any([ended.signal, stopping])
  const taken = () => ended.abort(new LostRun('The queue took the run away from this worker.'))
  delivery.signal.addEventListener('abort', taken, { once: true })
  const limit = setTimeout(() => ended.abort(tooLong()), longestAttempt)

  let totals: Totals | undefined
  using pulse = startPulse(db, claim, { totals: () => totals, lost: (reason) => ended.abort(reason) })
  const context = { parts, delivery, claim, log, pulse }
  const goingOn: Promise<void>[] = []
  try {
    if (claim.tries > mostTries) throw triedTooOften()
    const attempt: Attempt = {
      claim,
      log,
      signal,
      count: (counts: Totals) => (totals = counts),
      stillOurs: pulse.beat,
      behind: (work) => void goingOn.push(work),
    }
    return await succeed(context, await work(parts, attempt))
  } catch (error) {
    const begun = Number((totals as Totals | undefined)?.bytesRead) > 0
    return await settle(context, signal.aborted ? signal.reason : firstError(error), begun)
  } finally {
    clearTimeout(limit)
    delivery.signal.removeEventListener('abort', taken)
    await Promise.all(goingOn)
  }
}

function takeUp(
  { db, clientConcurrency }: WorkParts,
  { run, again }: Delivery,
  hasSlot: boolean,
): Promise<Claim | 'DEFERRED' | undefined> {
  return runTransaction(db, async (trx) => {
    const mayBegin = hasSlot && (await clientHasRoom(trx, run, clientConcurrency)) && !(await inputsComeFirst(trx, run))
    if (mayBegin) return claimRun(trx, run)
    await again(trx, 1)
    return 'DEFERRED'
  })
}

async function succeed({ parts, claim, log }: Context, found: Success): Promise<Ended> {
  // A message can quote a value of the file.
  const success = { ...found, message: storable(parts.redaction.apply(found.message), 5_000) }
  log.write(success.state === 'OK' ? 'INFO' : 'WARN', 'MEDIUM', success.message)
  // Whoever sees that the run is over finds its log complete.
  await log.flush()
  await failpoint('before-status')
  const ours = await finishRun(parts, claim, success)
  await failpoint('status-written')
  return { ending: ours ? success.state : 'LOST', claim, success }
}

/** `begun`: something was read. Then even a warehouse that went away costs a try, for the load itself may have felled it. */
async function settle(context: Context, error: unknown, begun: boolean): Promise<Ended> {
  const { parts, claim, log, pulse } = context
  if (error instanceof LostRun) {
    log.write('INFO', 'MEDIUM', error.message)
    await failpoint('lost')
    await correctCancelled(parts, claim.uid)
    return { ending: 'LOST', claim }
  }
  if (error instanceof HandedBack) {
    log.write('INFO', 'LOW', `Attempt ${claim.attempt} is handed back: its worker was told to stop.`)
    return { ending: await queueAgain(context, { unfinished: true }, 0), claim }
  }

  const failure = failureOf(error, claim.uid, { isDataset: claim.client === catalogueClient })
  const message = storable(parts.redaction.apply(failure.message), 5_000)
  const details = { run: claim.uid, attempt: claim.attempt, code: failure.code }
  if (!failure.expected) parts.logger.error({ ...details, err: error }, 'a run failed for an unknown reason')
  else parts.logger.info({ ...details, reason: message }, 'an attempt failed')

  const waits = Date.now() - claim.requestedAt.getTime() < longestWait
  const unfinished = failure.away && !begun && waits
  if (failure.retryable && (unfinished || claim.tries < mostTries)) {
    const seconds = backoff(unfinished ? claim.attempt : claim.tries)
    log.write('WARN', 'MEDIUM', `${message} (${failure.code}; next try in ${seconds} seconds)`)
    return { ending: await queueAgain(context, { code: failure.code, message, unfinished }, seconds), claim }
  }
  const published = await publishedAlready(parts, claim).catch((trouble: unknown) => {
    const { retryable, away } = failureOf(trouble, claim.uid)
    // A warehouse that is away for so long may never be back; one that is busy answers some day.
    return waits || (retryable && !away) ? ('UNKNOWN' as const) : undefined
  })
  if (published === 'UNKNOWN')
    return {
      ending: await queueAgain(context, { code: failure.code, message, unfinished: true }, backoff(claim.attempt)),
      claim,
    }
  if (published) return succeed(context, published)
  log.write('ERROR', 'HIGH', `${message} (${failure.code})`)
  const unheard = parts.mails ? undefined : await unmailed(parts.db, claim).catch(() => undefined)
  if (unheard) log.write('WARN', 'MEDIUM', unheard)
  await log.flush()
  if (!(await pulse.beat())) return { ending: 'LOST', claim }
  const ours = await finishRun(parts, claim, { state: 'FAILED', code: failure.code, message })
  return { ending: ours ? 'FAILED' : 'LOST', claim }
}

/** Row and job in one transaction; a run that was lost meanwhile is left to whoever has it. */
async function queueAgain({ parts, delivery, claim }: Context, reason: Reason, seconds: number): Promise<Ending> {
  const given = await runTransaction(parts.db, async (trx) => {
    if (!(await giveBackRun(trx, claim, reason))) return false
    await failpoint('giving-back')
    if (await delivery.again(trx, seconds)) return true
    throw new LostRun('The queue took the run away from this worker.')
  }).catch((error: unknown) => {
    if (error instanceof LostRun) return false
    throw error
  })
  if (!given) return 'LOST'
  return 'code' in reason ? 'AGAIN' : 'HANDED_BACK'
}

async function work(parts: WorkParts, attempt: Attempt): Promise<Success> {
  const { client, subject } = attempt.claim
  if (!(await parts.clientStands(client)))
    throw new LoadProblem(
      'CLIENT_DISABLED',
      'Nothing was run: this organisation is disabled, or its data pipelines are switched off. The old data stays. A super admin looks at “disabled” and “pipelinesEnabled” of the client in the identity service; then run it again.',
    )
  return works[subject.kind]!.run(parts, attempt)
}

function triedTooOften(): LoadProblem {
  return new LoadProblem(
    'TOO_MANY_ATTEMPTS',
    `The run was given up: it was tried ${mostTries} times, and each time the worker that had it was gone before the end. Whatever was published last stays. Look at what ended the workers (their logs, the memory limit of their containers, restarts of the machine) at the times in the log of this run; then give them more memory or load less at once, and run it again.`,
  )
}

function tooLong(): LoadProblem {
  const hours = longestAttempt / 3_600_000
  const sentence = `The run took longer than ${hours} hours and was stopped. The old data stays. Load less at once, or make the source faster.`
  return new LoadProblem('RUN_TOO_LONG', sentence)
}
