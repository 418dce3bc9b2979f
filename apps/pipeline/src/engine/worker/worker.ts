import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from '@sluice/process'
import type { Delivery, WorkerQueue } from '../queue/job-queue.ts'
import { type Ended, executeRun, HandedBack } from './execute-run.ts'
import type { WorkerMetrics } from './metrics.ts'
import type { WorkParts } from './run-handler.ts'

export interface Worker {
  /** Takes no more runs, hands those in hand back to the queue, and answers when they are. 16 seconds at most. */
  stop(): Promise<void>
}

interface Parts extends WorkParts {
  queue: WorkerQueue
  logger: Logger
  metrics: WorkerMetrics
}

/** Milliseconds that the loads in hand have to end after they were told to. */
const patience = 14_000

/** Begins to take runs from the queue and to execute them, as many at once as the queue gives. */
export async function startWorker(parts: Parts): Promise<Worker> {
  const { queue, logger, metrics } = parts
  const stopping = new AbortController()
  const inHand = new Set<Promise<void>>()

  async function work(delivery: Delivery): Promise<void> {
    const began = performance.now()
    metrics.running.inc()
    try {
      record(await executeRun(parts, delivery, stopping.signal), (performance.now() - began) / 1000)
    } catch (error) {
      metrics.attempts.inc({ outcome: 'UNSETTLED' })
      logger.warn(
        { err: error, run: delivery.run },
        'the end of an attempt could not be written; the queue tries again',
      )
      throw error
    } finally {
      metrics.running.dec()
    }
  }

  function record({ ending, claim, success }: Ended, seconds: number): void {
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

  await queue.work((delivery) => {
    const done = work(delivery)
    inHand.add(done)
    const forget = () => inHand.delete(done)
    done.then(forget, forget)
    return done
  })

  return {
    async stop() {
      await queue.stopTaking()
      if (inHand.size > 0) logger.info({ runs: inHand.size }, 'handing runs back')
      stopping.abort(new HandedBack('The worker was told to stop.'))
      const late = new AbortController()
      await Promise.race([
        Promise.allSettled(inHand),
        sleep(patience, undefined, { signal: late.signal }).catch(() => {}),
      ])
      late.abort()
      await queue[Symbol.asyncDispose]()
    },
  }
}
