import { setImmediate as turn } from 'node:timers/promises'
import { failpoint } from '../../failpoints.ts'
import type { TupleChunk } from '../warehouse.ts'
import { CopyTurns } from './copy-shares.ts'
import type { Lane } from './lane.ts'

/** An error of the bytes' giver: travels through ours unwrapped. */
export class GiverFailed extends Error {}

/** Enough that a lane never runs dry while the next chunk is made; more would only cost memory. */
const inFlight = 2

/**
 * Hands chunks out to lanes. When a lane fails or the signal aborts, nothing waits for a giver that hangs. Each wait is a
 * promise of its own, so a long load does not grow a list of listeners.
 */
export class Pour implements Disposable {
  bytes = 0
  readonly #giver: AsyncIterator<TupleChunk>
  readonly #signal: AbortSignal
  readonly #turns: CopyTurns
  readonly #abort = () => this.#break(this.#signal.reason)
  #exhausted = false
  #broken: Error | undefined
  #fail: ((error: Error) => void) | undefined
  #wake: (() => void) | undefined

  /** `client` is whose share of the cores it copies in. */
  constructor(chunks: AsyncIterable<TupleChunk>, signal: AbortSignal, client: string) {
    this.#giver = chunks[Symbol.asyncIterator]()
    this.#signal = signal
    this.#turns = new CopyTurns(client, signal)
    if (signal.aborted) this.#abort()
    signal.addEventListener('abort', this.#abort, { once: true })
  }

  /** Until the giver has no more, or `most` bytes in all have passed; answers whether it has no more. */
  async into(lanes: readonly Lane[], most = Infinity): Promise<boolean> {
    for (const lane of lanes) lane.ended.catch((error: Error) => this.#break(error))
    while (this.bytes < most) {
      const next = await this.#unlessBroken<IteratorResult<TupleChunk>>((resolve, reject) => {
        this.#turns
          .waitFor(this.#next())
          .then(resolve, (cause: unknown) => reject(new GiverFailed('the source failed', { cause })))
      })
      if (next.done) return (this.#exhausted = true)
      this.bytes += next.value.bytes.byteLength
      await this.#turns.take(next.value.bytes.byteLength)
      this.#send(await this.#leastLoaded(lanes), next.value)
    }
    return false
  }

  /** Ends the COPY of every lane, and only then commits any. Answers the rows. */
  async finish(lanes: readonly Lane[]): Promise<number> {
    const rows = await this.#settled(Promise.all(lanes.map((lane) => lane.end())))
    await this.#settled(Promise.all(lanes.map((lane) => lane.commit())))
    return rows.reduce((sum, each) => sum + each, 0)
  }

  [Symbol.dispose](): void {
    this.#turns[Symbol.dispose]()
    this.#signal.removeEventListener('abort', this.#abort)
    // Not waited for: it may hang.
    if (!this.#exhausted) void Promise.resolve(this.#giver.return?.()).catch(() => {})
  }

  async #next(): Promise<IteratorResult<TupleChunk>> {
    await failpoint('in-copy')
    // Where the socket takes all bytes at once and the giver has more at once, no timer would go off and no cancel be heard.
    await turn()
    return this.#giver.next()
  }

  #send(lane: Lane, chunk: TupleChunk): void {
    const taken = () => {
      chunk.release?.()
      this.#wake?.()
    }
    lane.write(chunk.bytes).then(taken, (error: Error) => {
      this.#break(error)
      taken()
    })
  }

  async #leastLoaded(all: readonly Lane[]): Promise<Lane> {
    for (;;) {
      // Uses one connection while another client copies, because each connection is a process of the server.
      const lanes = this.#turns.isShared ? all.slice(0, 1) : all
      // Of lanes that wait alike, the one with less to do: the first would get all of a slow giver's.
      const lane = lanes.reduce((least, other) =>
        (other.pending - least.pending || other.bytes - least.bytes) < 0 ? other : least,
      )
      if (lane.pending < inFlight) return lane
      await this.#unlessBroken<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }

  #settled<T>(promise: Promise<T>): Promise<T> {
    // When all is broken already nobody listens to it any more.
    promise.catch(() => {})
    return this.#unlessBroken<T>((resolve, reject) => void promise.then(resolve, reject))
  }

  #break(error: Error): void {
    this.#broken ??= error
    this.#fail?.(this.#broken)
  }

  #unlessBroken<T>(wait: (resolve: (value: T) => void, reject: (error: Error) => void) => void): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#fail = reject
      if (this.#broken) reject(this.#broken)
      else wait(resolve, reject)
    })
  }
}
