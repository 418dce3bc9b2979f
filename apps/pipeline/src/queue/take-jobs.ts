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
 * Takes jobs from a queue until the returned function is called. At most `concurrency` jobs are executed at a time.
 * Each handler of pg-boss takes only one job, and starts the next handler when it has it. So at most one handler waits
 * for a job. Several would be slower: pg-boss wakes all waiting handlers at each notification, and each of them sends a
 * query.
 */
export async function takeJobs<T extends object>(
  boss: PgBoss,
  { queue, concurrency, deferralSeconds, handle, ...options }: TakingOptions<T>,
): Promise<() => void> {
  let usedPlaces = 0
  let waitingHandler: WaitingHandler | undefined
  let isStopped = false

  /** Starts a handler for the next job, unless one is waiting or no place is free. */
  async function startHandler(): Promise<void> {
    if (isStopped || waitingHandler || usedPlaces >= concurrency) return
    const handler: WaitingHandler = {}
    waitingHandler = handler
    handler.id = await boss.work<T>(queue, options, async ([job]) => {
      waitingHandler = undefined
      usedPlaces += 1
      void startHandler()
      let isDeferred = false
      try {
        isDeferred = !(await handle(job!))
      } finally {
        // pg-boss completes the job when this function has returned, and then ends the handler.
        void boss.offWork(queue, { id: handler.id!, wait: true }).then(() => {
          if (isDeferred) setTimeout(freePlace, deferralSeconds * 1000).unref()
          else freePlace()
        })
      }
    })
  }

  /** Frees the place of a job. Then looks for the next job, which may have waited for the end of this one. */
  function freePlace(): void {
    usedPlaces -= 1
    if (waitingHandler?.id !== undefined) boss.notifyWorker(waitingHandler.id)
    void startHandler()
  }

  await startHandler()
  return () => void (isStopped = true)
}
