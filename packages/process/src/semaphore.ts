interface SemaphoreLimits {
  /** The total number of slots. */
  total: number
  /** The maximum number of slots of one key. If it equals `total`, one key may hold all slots. Default: `total - 1`. */
  each?: number
  /** The maximum number of waiting callers of one key. */
  waiting: number
  /** The maximum milliseconds that a caller waits. Default: unlimited. */
  waitMs?: number
  /** A sentence for users about the work that is limited. */
  title: string
}

interface SlotRequest {
  /** Stops waiting, with the signal's reason, on abort. */
  signal?: AbortSignal | undefined
  /**
   * The number of slots that must stay free for other callers. It gives callers such as anonymous readers a smaller
   * share. Default: 0.
   */
  leave?: number
}

interface WaitingCaller {
  share: SlotRequest
  since: number
  start(): void
}

interface KeyQueue {
  heldSlots: number
  waiting: WaitingCaller[]
}

/** All slots of the key are taken, and too many of its callers are waiting or this one has waited too long. */
export class SemaphoreBusy extends Error {
  override readonly name = 'SemaphoreBusy'
}

/**
 * A fair counting semaphore with keys, such as organisations. No key holds more slots than its share, and a key that
 * holds a slot never gets the last free one, so that another key can start at once. A free slot goes to the key with
 * the fewest slots, then to the caller that has waited longest.
 */
export class Semaphore {
  readonly #limits: SemaphoreLimits
  readonly #queues = new Map<string, KeyQueue>()
  #free: number
  #arrivals = 0

  constructor(limits: SemaphoreLimits) {
    this.#limits = limits
    this.#free = limits.total
  }

  /** Returns the number of waiting callers of a key, or of all keys. */
  waiting(key?: string): number {
    const queues = key === undefined ? [...this.#queues.values()] : [this.#queues.get(key)]
    return queues.reduce((sum, queue) => sum + (queue?.waiting.length ?? 0), 0)
  }

  /** True if another key holds a slot or waits for one. */
  isShared(key: string): boolean {
    return this.#queues.size > (this.#queues.has(key) ? 1 : 0)
  }

  /** Returns a slot if one is free. Dispose it to release the slot. */
  tryAcquire(key: string, share: SlotRequest = {}): Disposable | undefined {
    const queue = this.#findOrAddQueue(key)
    if (!this.#mayStart(queue, share)) {
      this.#forgetIfEmpty(key, queue)
      return undefined
    }
    return this.#take(key, queue)
  }

  /** Waits for a slot. Dispose it to release the slot. Throws `SemaphoreBusy`, or the signal's reason. */
  async acquire(key: string, share: SlotRequest = {}): Promise<Disposable> {
    const { signal } = share
    signal?.throwIfAborted()
    const slot = this.tryAcquire(key, share)
    if (slot) return slot
    const queue = this.#findOrAddQueue(key)
    if (queue.waiting.length >= this.#limits.waiting) {
      this.#forgetIfEmpty(key, queue)
      throw this.#busy()
    }
    return this.#waitForSlot(key, queue, share)
  }

  /**
   * Adds a caller to the queue. It leaves the queue when it gets a slot, when its waiting time is over, or when the
   * signal aborts.
   */
  #waitForSlot(key: string, queue: KeyQueue, share: SlotRequest): Promise<Disposable> {
    const { signal } = share
    const { waitMs } = this.#limits
    return new Promise<Disposable>((resolve, reject) => {
      const caller: WaitingCaller = {
        share,
        since: this.#arrivals++,
        start: () => {
          removeListeners()
          resolve(this.#take(key, queue))
        },
      }
      const giveUp = (reason: unknown) => {
        queue.waiting.splice(queue.waiting.indexOf(caller), 1)
        removeListeners()
        this.#forgetIfEmpty(key, queue)
        reject(reason as Error)
      }
      const abort = () => giveUp(signal!.reason)
      const timer = waitMs === undefined ? undefined : setTimeout(() => giveUp(this.#busy()), waitMs)
      const removeListeners = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', abort)
      }
      signal?.addEventListener('abort', abort, { once: true })
      queue.waiting.push(caller)
    })
  }

  /** Runs `callback` while holding a slot. Throws the errors of `acquire` and `callback`. */
  async run<T>(key: string, callback: () => Promise<T>, share: SlotRequest = {}): Promise<T> {
    using _slot = await this.acquire(key, share)
    return await callback()
  }

  /** Returns `run` bound to one key. The signal stops waiting. */
  queueOf(key: string, share: Omit<SlotRequest, 'signal'> = {}) {
    return <T>(callback: () => Promise<T>, signal?: AbortSignal): Promise<T> =>
      this.run(key, callback, { ...share, signal })
  }

  #mayStart({ heldSlots }: KeyQueue, { leave = 0 }: SlotRequest): boolean {
    const { total, each = Math.max(1, total - 1) } = this.#limits
    // A key that already holds a slot leaves the last free one to other keys.
    const reserved = heldSlots > 0 && each < total ? 1 : 0
    return heldSlots < each && this.#free > Math.max(leave, reserved)
  }

  #take(key: string, queue: KeyQueue): Disposable {
    this.#free -= 1
    queue.heldSlots += 1
    let isReleased = false
    return {
      [Symbol.dispose]: () => {
        if (isReleased) return
        isReleased = true
        this.#free += 1
        queue.heldSlots -= 1
        this.#startNext()
        this.#forgetIfEmpty(key, queue)
      },
    }
  }

  /** Starts waiting callers until none of them may start. */
  #startNext(): void {
    for (;;) {
      const candidates = [...this.#queues.values()].flatMap((queue) => {
        const caller = queue.waiting.find(({ share }) => this.#mayStart(queue, share))
        return caller ? [{ queue, caller }] : []
      })
      const [next] = candidates.toSorted(
        (a, b) => a.queue.heldSlots - b.queue.heldSlots || a.caller.since - b.caller.since,
      )
      if (!next) return
      next.queue.waiting.splice(next.queue.waiting.indexOf(next.caller), 1)
      next.caller.start()
    }
  }
  #findOrAddQueue(key: string): KeyQueue {
    const existing = this.#queues.get(key)
    if (existing) return existing
    const queue = { heldSlots: 0, waiting: [] }
    this.#queues.set(key, queue)
    return queue
  }

  /** Removes the queue of a key that has neither slots nor waiting callers. */
  #forgetIfEmpty(key: string, queue: KeyQueue): void {
    if (queue.heldSlots === 0 && queue.waiting.length === 0 && this.#queues.get(key) === queue) this.#queues.delete(key)
  }

  #busy(): SemaphoreBusy {
    return new SemaphoreBusy(this.#limits.title)
  }
}

/**
 * Returns a function that runs at most `maxRunning` callbacks at a time. `maxWaiting` further callbacks may wait; any
 * further call throws `SemaphoreBusy`, to which the HTTP services respond with 503 and `title`.
 */
export function limitConcurrency({
  maxRunning,
  maxWaiting,
  title,
}: {
  maxRunning: number
  maxWaiting: number
  title: string
}) {
  const semaphore = new Semaphore({ total: maxRunning, each: maxRunning, waiting: maxWaiting, title })
  // All callbacks have the same key, so none of them has precedence.
  const run = semaphore.queueOf('')
  return Object.assign(run, {
    /** Returns the number of waiting callbacks. */
    waiting: () => semaphore.waiting(),
  })
}
