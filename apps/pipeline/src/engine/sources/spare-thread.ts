import { type ResourceLimits, Worker } from 'node:worker_threads'

export interface SpareThread {
  /** Keeps a thread ready until every holder has disposed of what this returns. The thread keeps no process alive. */
  keep(): Disposable
  /** Whether somebody keeps a thread ready. */
  readonly kept: boolean
  take(): Worker | undefined
  /** Takes back one that is through with its job. */
  back(worker: Worker): void
  /** Somebody reads with one: it comes back, or there is another some time after it has ended. */
  lent(ended: Promise<void>): void
}

/** Milliseconds after a thread was lost in which whatever ended it has the processor for itself. */
const pause = 1_000

/** All spare threads, and how many read who want their memory. */
const makers = new Set<{ leave(): void; make(): void }>()
let readers = 0

/**
 * A thread that waits for the next job: with everything loaded, and once it has had one, with its code compiled for what it does most.
 * Without `ahead` none is started before there is a job; the thread of the first job is the one that is kept.
 */
export function spareThread(
  program: URL,
  name: string,
  resourceLimits: ResourceLimits,
  { ahead = true } = {},
): SpareThread {
  let holders = 0
  let spare: Worker | undefined
  let out = 0

  const make = () => {
    if (ahead && holders > 0 && !spare && out === 0 && readers === 0) put(new Worker(program, { name, resourceLimits }))
  }
  const leave = () => {
    void spare?.terminate()
    spare = undefined
  }
  makers.add({ make, leave })

  /** One is enough: what is read at the same time takes its time anyway. */
  function put(worker: Worker): void {
    if (spare || readers > 0 || holders === 0) return void worker.terminate()
    spare = worker
    worker.unref()
    // One that is gone is not missed: the next job gets a thread of its own, and says what is wrong.
    const gone = () => {
      if (spare === worker) spare = undefined
    }
    worker.on('error', gone).on('exit', gone)
  }

  return {
    keep() {
      holders += 1
      make()
      let held = true
      return {
        [Symbol.dispose]() {
          if (!held) return
          held = false
          holders -= 1
          if (holders === 0) leave()
        },
      }
    },
    get kept() {
      return holders > 0
    },
    take() {
      const taken = spare
      spare = undefined
      taken?.removeAllListeners('error').removeAllListeners('exit').ref()
      return taken
    },
    back(worker) {
      out -= 1
      put(worker)
    },
    lent(ended) {
      out += 1
      void ended.then(() => {
        out -= 1
        setTimeout(make, pause).unref()
      })
    },
  }
}

/** While another thread reads that needs much itself, none is spare: what it holds is for whoever reads. */
export function makeRoom(ended: Promise<void>): void {
  readers += 1
  for (const { leave } of makers) leave()
  void ended.then(() => {
    readers -= 1
    for (const { make } of makers) setTimeout(make, pause).unref()
  })
}
