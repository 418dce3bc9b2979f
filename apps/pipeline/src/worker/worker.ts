import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from '@sluice/process'
import type { Delivery, WorkerQueue } from '../queue/job-queue.ts'
import { type EndedAttempt, executeRun, WorkerStopping } from './execute-run.ts'
import type { WorkerMetrics } from './metrics.ts'
import type { RunContext } from './run-handler.ts'

export interface Worker {
  /**
   * Accepts no further runs, and requeues those that are running. Resolves when this is done, after at most 16 seconds.
   */
  stop(): Promise<void>
}

interface WorkerOptions extends RunContext {
  queue: WorkerQueue
  logger: Logger
  metrics: WorkerMetrics
}

/** Milliseconds to wait for running attempts after the worker was stopped. */
const stopTimeoutMs = 14_000

/** Starts to execute runs from the queue. The queue limits the number of concurrent runs. */
export async function startWorker(options: WorkerOptions): Promise<Worker> {
  const { queue, logger, metrics } = options
  const stopping = new AbortController()
  const running = new Set<Promise<boolean>>()

  /**
   * Executes a run. Returns false if it was deferred: the next run must then wait, because it would probably be
   * deferred too.
   */
  async function execute(delivery: Delivery): Promise<boolean> {
    const startedAt = performance.now()
    metrics.running.inc()
    try {
      const ended = await executeRun(options, delivery, stopping.signal)
      record(ended, (performance.now() - startedAt) / 1000)
      return ended.ending !== 'DEFERRED'
    } catch (error) {
      metrics.attempts.inc({ outcome: 'UNSETTLED' })
      logger.warn(
        { err: error, run: delivery.run },
        'the end of an attempt could not be written; the queue delivers the run again',
      )
      throw error
    } finally {
      metrics.running.dec()
    }
  }

  function record({ ending, claim, success }: EndedAttempt, seconds: number): void {
    metrics.attempts.inc({ outcome: ending })
    if (!claim) return
    metrics.seconds.observe({ outcome: ending }, seconds)
    if (claim.attempt === 1)
      metrics.waited.observe(Math.max(0, Date.now() - claim.requestedAt.getTime()) / 1000 - seconds)
    if (success && ending !== 'LOST') {
      metrics.rows.inc(success.rowsWritten)
      metrics.bytes.inc(success.bytesWritten)
      metrics.rejected.inc(success.rowsRejected)
    }
    const { uid: run, client, attempt, subject } = claim
    logger.info(
      { run, client, kind: subject.kind, subject: subject.uid, attempt, ending, seconds, rows: success?.rowsWritten },
      'run',
    )
  }

  await queue.handleJobs((delivery) => {
    const execution = execute(delivery)
    running.add(execution)
    const remove = () => running.delete(execution)
    execution.then(remove, remove)
    return execution
  })

  return {
    async stop() {
      await queue.stopTaking()
      if (running.size > 0) logger.info({ runs: running.size }, 'the worker stops and requeues its running runs')
      stopping.abort(new WorkerStopping('The worker stops.'))
      const timer = new AbortController()
      await Promise.race([
        Promise.allSettled(running),
        sleep(stopTimeoutMs, undefined, { signal: timer.signal }).catch(() => {}),
      ])
      timer.abort()
      await queue[Symbol.asyncDispose]()
    },
  }
}
