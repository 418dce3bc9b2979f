import type { Job, PgBoss, WorkOptions } from 'pg-boss'

interface TakingOptions<T extends object> extends WorkOptions {
  queue: string
  /** The maximum number of jobs at the same time. */
  concurrency: number
  /** Seconds for which a deferred job occupies one of the `concurrency` places. */
  deferralSeconds: number
  /** Executes a job. Returns false if it deferred the job, because the next one would probably be deferred too. */
  handle(job: Job<T>): Promise<boolean>
}

/** A handler of pg-boss without a job. Its id is known once it has started. */
interface WaitingHandler {
  id?: string
}

/**
 * Takes jobs from a queue until the returned function is called. While fewer than `concurrency` jobs are executed,
 * exactly one handler of pg-boss waits for the next one: pg-boss wakes all waiting handlers at each notification, and
 * each of them sends a query. Therefore each handler takes one job. When it has the job, the next handler starts, and
 * fetches at once, because the queue may have more jobs.
 */
export async function takeJobs<T extends object>(
  boss: PgBoss,
  { queue, concurrency, deferralSeconds, handle, ...options }: TakingOptions<T>,
): Promise<() => void> {
  let jobs = 0
  let waiting: WaitingHandler | undefined
  let isStopped = false

  /** Starts a handler for the next job, unless one is waiting or the maximum number of jobs is executed. */
  async function waitForJob(): Promise<void> {
    if (isStopped || waiting || jobs >= concurrency) return
    const handler: WaitingHandler = {}
    waiting = handler
    handler.id = await boss.work<T>(queue, options, async ([job]) => {
      waiting = undefined
      jobs += 1
      void waitForJob()
      let isDeferred = false
      try {
        isDeferred = !(await handle(job!))
      } finally {
        // pg-boss completes the job when this function has returned, and then ends the handler.
        void boss.offWork(queue, { id: handler.id!, wait: true }).then(() => {
          if (isDeferred) setTimeout(endJob, deferralSeconds * 1000).unref()
          else endJob()
        })
      }
    })
  }

  /** Frees the place of a job, and fetches the next one, which may have waited for the end of this one. */
  function endJob(): void {
    jobs -= 1
    if (waiting?.id !== undefined) boss.notifyWorker(waiting.id)
    void waitForJob()
  }

  await waitForJob()
  return () => void (isStopped = true)
}
