import type { ReadReporter } from '@sluice/row-stream'
import type { StoredObject } from './object-store.ts'
import { type LocalObject, type ObjectReading, fetchObject } from './read-object.ts'

/** Limits of the cache: number of open files, and bytes on disk. Objects beyond these limits are downloaded again in the second pass. */
const cacheLimits = { things: 64, bytes: 4 * 1024 ** 3 }
/** Limits of the downloads that run in advance, while another object is read. */
const prefetchLimits = { things: 4, weight: 64 * 1024 * 1024 }

/** Caches downloaded objects between two passes over them. Disposing the cache deletes the files. */
export class ObjectCache implements Disposable {
  readonly #reading: ObjectReading
  readonly #objects: readonly StoredObject[]
  readonly #report: Pick<ReadReporter, 'log'>
  readonly #kept = new Map<number, LocalObject>()
  #bytes = 0

  constructor(reading: ObjectReading, objects: readonly StoredObject[], report: Pick<ReadReporter, 'log'>) {
    this.#reading = reading
    this.#objects = objects
    this.#report = report
  }

  /**
   * Yields the objects with their indexes, in order. Each file is valid until the next one is requested. `onProgress` receives
   * the total of downloaded bytes.
   */
  async *all(
    signal: AbortSignal,
    onProgress: (bytes: number) => void,
  ): AsyncGenerator<[index: number, local: LocalObject], void, void> {
    const fetched = this.#objects.map(() => 0)
    let sum = 0
    const load = async (index: number, loadSignal: AbortSignal): Promise<LocalObject> => {
      const cached = this.#take(index)
      if (cached) return cached
      const onObjectProgress = (bytes: number) => {
        sum += bytes - fetched[index]!
        fetched[index] = bytes
        onProgress(sum)
      }
      return fetchObject(
        this.#reading,
        this.#objects[index]!,
        { log: this.#report.log, onProgress: onObjectProgress },
        loadSignal,
      )
    }
    const weights = this.#objects.map(({ size }) => size)
    let index = 0
    for await (const local of prefetchInOrder({ weights, mostAhead: prefetchLimits, load }, signal)) {
      try {
        yield [index, local]
      } finally {
        this.#keep(index, local)
      }
      index += 1
    }
  }

  [Symbol.dispose](): void {
    for (const local of this.#kept.values()) local[Symbol.dispose]()
    this.#kept.clear()
  }

  #take(index: number): LocalObject | undefined {
    const local = this.#kept.get(index)
    if (local) this.#bytes -= local.size
    this.#kept.delete(index)
    return local
  }

  #keep(index: number, local: LocalObject): void {
    if (this.#kept.size >= cacheLimits.things || this.#bytes + local.size > cacheLimits.bytes)
      return local[Symbol.dispose]()
    this.#kept.set(index, local)
    this.#bytes += local.size
  }
}

interface PrefetchOptions<T extends Disposable> {
  weights: readonly number[]
  /** Limits of the items that are prepared before the consumer requests them. */
  mostAhead: { things: number; weight: number }
  load(index: number, signal: AbortSignal): Promise<T>
}

/** Prepares items in advance and yields them in order. Disposes of items that the consumer does not take. */
export async function* prefetchInOrder<T extends Disposable>(
  { weights, mostAhead, load }: PrefetchOptions<T>,
  signal: AbortSignal,
): AsyncGenerator<T, void, void> {
  const abandoned = new AbortController()
  const loadSignal = AbortSignal.any([signal, abandoned.signal])
  const ahead: Promise<T>[] = []
  let next = 0
  let weight = 0
  try {
    for (let index = 0; index < weights.length; index++) {
      while (next < weights.length && (next === index || fits(next))) {
        weight += weights[next]!
        const pending = load(next, loadSignal)
        // The consumer receives the error when it requests the item. This handler prevents an unhandled rejection until then.
        pending.catch(() => {})
        ahead.push(pending)
        next += 1
      }
      const result = await ahead.shift()!
      weight -= weights[index]!
      yield result
    }
  } finally {
    abandoned.abort()
    for (const outcome of await Promise.allSettled(ahead))
      if (outcome.status === 'fulfilled') outcome.value[Symbol.dispose]()
  }

  function fits(index: number): boolean {
    return ahead.length < mostAhead.things && weight + weights[index]! <= mostAhead.weight
  }
}
