import { Worker, type WorkerOptions } from 'node:worker_threads'

/** A pool with at most one idle thread. */
export interface SpareThread {
  /** Keeps a thread ready until all returned objects are disposed. The thread does not keep the process alive. */
  keep(): Disposable
  /** True if an object from `keep` has not been disposed yet. */
  readonly isKept: boolean
  /** Removes the idle thread from the pool and returns it. Returns undefined without an idle thread. */
  take(): Worker | undefined
  /** Returns a thread to the pool after its job. */
  returnThread(worker: Worker): void
  /**
   * Counts a thread as in use until `returnThread` is called. If `ended` resolves first, a new spare thread starts
   * after `restartDelayMs`.
   */
  trackThreadInUse(ended: Promise<void>): void
}

export interface SpareThreadOptions extends Pick<WorkerOptions, 'name' | 'workerData' | 'resourceLimits'> {
  program: URL
  startEarly: boolean
}

/**
 * Milliseconds before a lost thread is replaced, so that the new thread does not compete with the next job for the CPU.
 */
const restartDelayMs = 1_000

/** All pools of spare threads, and the number of running readers that need the spare threads' memory. */
const spareThreadPools = new Set<{ terminateSpare(): void; startSpare(): void }>()
let memoryHeavyReaders = 0

/**
 * Creates a pool with at most one idle thread. That thread has loaded its modules and, after its first job, compiled
 * its hot code. If `startEarly` is false, no thread starts before the first job; the first job's thread is then kept.
 */
export function spareThread({ program, startEarly, ...options }: SpareThreadOptions): SpareThread {
  /** The number of objects from `keep` that are not disposed. */
  let holders = 0
  let spare: Worker | undefined
  let threadsInUse = 0

  const startSpare = () => {
    const isNeeded = holders > 0 && !spare && threadsInUse === 0
    if (startEarly && isNeeded && memoryHeavyReaders === 0) keepOrTerminate(new Worker(program, options))
  }
  const terminateSpare = () => {
    void spare?.terminate()
    spare = undefined
  }
  spareThreadPools.add({ startSpare, terminateSpare })

  /**
   * Keeps a thread as the spare one. Terminates it if a spare one exists, because concurrent jobs start threads of
   * their own.
   */
  function keepOrTerminate(worker: Worker): void {
    if (spare || memoryHeavyReaders > 0 || holders === 0) return void worker.terminate()
    spare = worker
    worker.unref()
    // If the spare thread fails, the next job starts a thread of its own and reports the error.
    const removeSpare = () => {
      if (spare === worker) spare = undefined
    }
    worker.on('error', removeSpare).on('exit', removeSpare)
  }

  return {
    keep() {
      holders += 1
      startSpare()
      let isHeld = true
      return {
        [Symbol.dispose]() {
          if (!isHeld) return
          isHeld = false
          holders -= 1
          if (holders === 0) terminateSpare()
        },
      }
    },
    get isKept() {
      return holders > 0
    },
    take() {
      const spareThread = spare
      spare = undefined
      spareThread?.removeAllListeners('error').removeAllListeners('exit').ref()
      return spareThread
    },
    returnThread(worker) {
      threadsInUse -= 1
      keepOrTerminate(worker)
    },
    trackThreadInUse(ended) {
      threadsInUse += 1
      void ended.then(() => {
        threadsInUse -= 1
        setTimeout(startSpare, restartDelayMs).unref()
      })
    },
  }
}

/** Terminates the spare threads until `ended` resolves, because a reader needs their memory. */
export function suspendSpareThreads(ended: Promise<void>): void {
  memoryHeavyReaders += 1
  for (const { terminateSpare } of spareThreadPools) terminateSpare()
  void ended.then(() => {
    memoryHeavyReaders -= 1
    for (const { startSpare } of spareThreadPools) setTimeout(startSpare, restartDelayMs).unref()
  })
}
