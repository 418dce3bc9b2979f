import { type Logger, failpoint } from '@sluice/process'
import type { Transaction } from 'kysely'
import type { DB } from '../database.ts'
import { catalogueClient } from '../warehouses/public-dataset-owner.ts'
import { explainMissingMail } from '../alerts/write-alerts.ts'
import { LoadProblem } from '@sluice/warehouses/load-row-streams'
import type { Delivery } from '../queue/job-queue.ts'
import {
  type Claim,
  maxTries,
  claimLock,
  claimRun,
  isRunWaiting,
  requeueRun,
  type RequeueReason,
} from '../runs/claim-run.ts'
import { finishRun } from '../run-lifecycle/finish-run.ts'
import { openRunLog, type RunLog, toStorableText } from '../runs/run-log.ts'
import { type Heartbeat, startHeartbeat, type Totals } from '../runs/heartbeat.ts'
import { runTransaction } from '../runs/run-transaction.ts'
import { LeaseLost } from '@sluice/warehouses/warehouse'
import { mustWaitForInputs } from '../views/wait-for-input-views.ts'
import { retryDelaySeconds, describeFailure, findOriginalError } from './run-failure.ts'
import { recoverCancelledRun, recoverPublishedRun, runHandlers } from './run-handlers-by-kind.ts'
import type { RunAttempt, RunSuccess, RunContext } from './run-handler.ts'

/** The abort reason when the worker stops. The run is then requeued. */
export class WorkerStopping extends Error {
  override readonly name = 'WorkerStopping'
}

/**
 * The outcome of an attempt. AGAIN: it failed, and the run is retried. HANDED_BACK: the worker stopped, and the run is
 * queued again. REFUSED: the run had already ended. DEFERRED: the organisation has too many runs, the free slot is
 * reserved for another organisation, or the run must wait for its inputs. LOST: the attempt lost its lease to another
 * one.
 */
export type AttemptEnding = 'OK' | 'WARNING' | 'FAILED' | 'AGAIN' | 'HANDED_BACK' | 'LOST' | 'REFUSED' | 'DEFERRED'

export interface EndedAttempt {
  ending: AttemptEnding
  claim?: Claim
  success?: RunSuccess
}

/** The timeout of an attempt in milliseconds. It is shorter than 24 hours, after which the queue expires a job. */
const attemptTimeoutMs = 23.5 * 3_600_000

/**
 * For this many milliseconds after the request of a run, an attempt that fails because a server is unavailable does not
 * count.
 */
const maxUnavailableMs = 24 * 3_600_000

interface AttemptContext {
  services: RunContext & { logger: Logger }
  delivery: Delivery
  claim: Claim
  log: RunLog
  heartbeat: Heartbeat
}

/**
 * Executes one attempt at a run, from the claim to the end. `stopping` aborts with `WorkerStopping`. Throws only if it
 * cannot write the end of the run to the service's database, or if it cannot read from the warehouse whether a
 * cancelled run was published. The queue then delivers the run again.
 */
export async function executeRun(
  services: AttemptContext['services'],
  delivery: Delivery,
  stopping: AbortSignal,
): Promise<EndedAttempt> {
  const { db, redaction } = services
  if (stopping.aborted) {
    await db.transaction().execute((trx) => delivery.requeue(trx, 0))
    return { ending: 'HANDED_BACK' }
  }
  using slot = services.slots.tryAcquire(delivery.client)
  const claim = await claimOrDefer(services, delivery, slot !== undefined)
  if (claim === 'DEFERRED') return { ending: 'DEFERRED' }
  if (!claim) {
    await recoverCancelledRun(services, delivery.run)
    return { ending: 'REFUSED' }
  }
  services.logger.debug({ run: claim.uid, attempt: claim.attempt }, 'a run was claimed')
  await failpoint('claimed')

  await using log = await openRunLog(db, claim, redaction)
  const runEnded = new AbortController()
  const signal = AbortSignal.any([runEnded.signal, stopping])
  const onDeliveryLost = () => runEnded.abort(new LeaseLost('The queue ended the delivery of the run to this worker.'))
  delivery.signal.addEventListener('abort', onDeliveryLost, { once: true })
  const timeout = setTimeout(() => runEnded.abort(runTooLong()), attemptTimeoutMs)

  let totals: Totals | undefined
  using heartbeat = startHeartbeat(db, claim, { totals: () => totals, onLeaseLost: (reason) => runEnded.abort(reason) })
  const context = { services, delivery, claim, log, heartbeat }
  const backgroundWork: Promise<void>[] = []
  try {
    if (claim.tries > maxTries) throw tooManyAttempts()
    const attempt: RunAttempt = {
      claim,
      log,
      signal,
      reportProgress: (counts: Totals) => (totals = counts),
      sendHeartbeat: heartbeat.beat,
      onBackgroundWork: (work) => void backgroundWork.push(work),
    }
    return await recordSuccess(context, await handleRun(services, attempt))
  } catch (error) {
    const hasReadBytes = Number((totals as Totals | undefined)?.bytesRead) > 0
    return await endWithError(context, signal.aborted ? signal.reason : findOriginalError(error), hasReadBytes)
  } finally {
    clearTimeout(timeout)
    delivery.signal.removeEventListener('abort', onDeliveryLost)
    await Promise.all(backgroundWork)
  }
}

/**
 * Claims the run if this worker has a free slot for the organisation (`hasSlot`) and its limits allow the run.
 * Otherwise requeues the job and returns DEFERRED. Returns undefined, and does not requeue, if the run has ended or was
 * deleted.
 */
function claimOrDefer(
  { db, clientConcurrency }: RunContext,
  { run, client, requeue }: Delivery,
  hasSlot: boolean,
): Promise<Claim | 'DEFERRED' | undefined> {
  const claimOrRequeue = async (trx: Transaction<DB>) => {
    if (hasSlot) {
      const limits = { maxRuns: clientConcurrency, mustWait: mustWaitForInputs(run) }
      const claim = await claimRun(trx, run, limits)
      if (claim) return claim
      const canBeClaimedLater = await isRunWaiting(trx, run)
      if (!canBeClaimedLater) return undefined
    }
    await requeue(trx, deferralSeconds)
    return 'DEFERRED'
  }
  return runTransaction(db, claimOrRequeue, hasSlot ? { lock: claimLock(client) } : {})
}

/** Seconds until the queue delivers a deferred run again. */
const deferralSeconds = 1

async function recordSuccess({ services, claim, log }: AttemptContext, result: RunSuccess): Promise<EndedAttempt> {
  // Redact the message, because it may contain a value of the file.
  const success = { ...result, message: toStorableText(services.redaction.apply(result.message), 5_000) }
  log.write(success.state === 'OK' ? 'INFO' : 'WARN', 'MEDIUM', success.message)
  // Write all log lines before the run ends, because readers of the log stop at its end.
  await log.flush()
  await failpoint('before-status')
  const isFinished = await finishRun(services, claim, success)
  await failpoint('status-written')
  return { ending: isFinished ? success.state : 'LOST', claim, success }
}

/**
 * Ends or requeues a run after an error. A run that published its rows before the error is successful. If the attempt
 * has read rows, an unavailable warehouse counts as a failed attempt, because the load itself may have caused it. After
 * the loss of the lease, only the state of a cancelled run is corrected.
 */
async function endWithError(context: AttemptContext, error: unknown, hasReadBytes: boolean): Promise<EndedAttempt> {
  const { services, claim, log, heartbeat } = context
  if (error instanceof LeaseLost) {
    log.write('INFO', 'MEDIUM', error.message)
    await failpoint('lost')
    await recoverCancelledRun(services, claim.uid)
    return { ending: 'LOST', claim }
  }
  if (error instanceof WorkerStopping) {
    log.write(
      'INFO',
      'LOW',
      `Attempt ${claim.attempt} is interrupted, because its worker stops. The run is queued again.`,
    )
    return { ending: await requeue(context, { unfinished: true }, 0), claim }
  }

  const failure = describeFailure(error, claim.uid, { isDataset: claim.client === catalogueClient })
  const message = toStorableText(services.redaction.apply(failure.message), 5_000)
  const details = { run: claim.uid, attempt: claim.attempt, code: failure.code }
  if (!failure.expected) services.logger.error({ ...details, err: error }, 'a run failed for an unknown reason')
  else services.logger.info({ ...details, reason: message }, 'an attempt failed')

  const mayWaitForServer = Date.now() - claim.requestedAt.getTime() < maxUnavailableMs
  const isUnfinished = failure.isServerUnavailable && !hasReadBytes && mayWaitForServer
  if (failure.retryable && (isUnfinished || claim.tries < maxTries)) {
    const seconds = retryDelaySeconds(isUnfinished ? claim.attempt : claim.tries)
    log.write('WARN', 'MEDIUM', `${message} (${failure.code}; next attempt in ${seconds} seconds)`)
    return { ending: await requeue(context, { code: failure.code, message, unfinished: isUnfinished }, seconds), claim }
  }
  const publishedResult = await recoverPublishedRun(services, claim).catch((problem: unknown) => {
    const { retryable, isServerUnavailable } = describeFailure(problem, claim.uid)
    // A warehouse that has been unavailable for this long may never return, so do not wait for it; a busy warehouse
    // will respond.
    const willRespondLater = mayWaitForServer || (retryable && !isServerUnavailable)
    return willRespondLater ? ('UNKNOWN' as const) : undefined
  })
  if (publishedResult === 'UNKNOWN') {
    const reason = { code: failure.code, message, unfinished: true }
    return { ending: await requeue(context, reason, retryDelaySeconds(claim.attempt)), claim }
  }
  if (publishedResult) return recordSuccess(context, publishedResult)
  log.write('ERROR', 'HIGH', `${message} (${failure.code})`)
  const missingMail = services.mails ? undefined : await explainMissingMail(services.db, claim).catch(() => undefined)
  if (missingMail) log.write('WARN', 'MEDIUM', missingMail)
  await log.flush()
  if (!(await heartbeat.beat())) return { ending: 'LOST', claim }
  const isFinished = await finishRun(services, claim, { state: 'FAILED', code: failure.code, message })
  return { ending: isFinished ? 'FAILED' : 'LOST', claim }
}

/**
 * Requeues a run and its job in one transaction. Returns AGAIN if the attempt failed with the code of the reason,
 * otherwise HANDED_BACK. Returns LOST, and changes nothing, if the attempt has lost its lease.
 */
async function requeue(
  { services, delivery, claim }: AttemptContext,
  reason: RequeueReason,
  seconds: number,
): Promise<AttemptEnding> {
  const isRequeued = await runTransaction(services.db, async (trx) => {
    if (!(await requeueRun(trx, claim, reason))) return false
    await failpoint('giving-back')
    if (await delivery.requeue(trx, seconds)) return true
    throw new LeaseLost('The queue ended the delivery of the run to this worker.')
  }).catch((error: unknown) => {
    if (error instanceof LeaseLost) return false
    throw error
  })
  if (!isRequeued) return 'LOST'
  return 'code' in reason ? 'AGAIN' : 'HANDED_BACK'
}

/** Calls the handler of the run's kind. Throws `LoadProblem` if the organisation may not run pipelines. */
async function handleRun(services: RunContext, attempt: RunAttempt): Promise<RunSuccess> {
  const { client, subject } = attempt.claim
  if (!(await services.isClientActive(client)))
    throw new LoadProblem(
      'CLIENT_DISABLED',
      'The run was not started, because this organisation is disabled or its data pipelines are switched off. The old data stays. Ask a super admin to change “disabled” or “pipelinesEnabled” of the organisation, then run again.',
    )
  return runHandlers[subject.kind]!.run(services, attempt)
}

function tooManyAttempts(): LoadProblem {
  return new LoadProblem(
    'TOO_MANY_ATTEMPTS',
    `The run has failed, because the worker crashed in each of ${maxTries} attempts. The old data stays. Ask the operator to check the logs, the memory limit and restarts of the workers at the times in the log of this run. Then give the workers more memory or load less at once, and run again.`,
  )
}

function runTooLong(): LoadProblem {
  const hours = attemptTimeoutMs / 3_600_000
  const sentence = `The run took longer than ${hours} hours and was stopped. The old data stays. Load less at once, or make the source faster.`
  return new LoadProblem('RUN_TOO_LONG', sentence)
}
