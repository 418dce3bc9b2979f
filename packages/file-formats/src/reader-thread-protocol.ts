import type { ChunkSink, ProblemMessage, RejectedRow, StoredType } from '@sluice/row-stream'

/** The kinds of jobs. A reader thread does jobs of only one kind, and loads only the code for that kind. */
export type JobKind = 'convert' | 'csv' | 'parquet' | 'preview' | 'key-rows'

/** The `workerData` of a thread, and the message with its next job. A thread without a job waits for one. */
export interface ThreadJob {
  kind: JobKind
  job?: object
}

/**
 * Commands to a thread that has opened a file. `encode`: send all rows from the first one on. `release`: reuse the
 * memory of a chunk, which the consumer has read.
 */
export type RowsCommand =
  | { kind: 'encode'; types: readonly StoredType[] }
  | { kind: 'release'; memory: ArrayBuffer; pass: number }

/** Totals since the start of the pass. */
export interface ReadTotals {
  bytesRead: number
  bytesTotal?: number
  rowsRead?: number
}

/**
 * Messages from a thread. A message `chunk` transfers the memory of the chunk. `pass` is the number of the pass over
 * the rows, counted over all files of the thread.
 */
export type ReaderMessage<Result, Opened = never, Widened = never> =
  | { kind: 'progress'; totals: ReadTotals }
  /** Describes the opened file. Sent before any row. */
  | { kind: 'opened'; opened: Opened }
  | { kind: 'chunk'; memory: ArrayBuffer; length: number; rejected: RejectedRow[]; pass: number }
  /**
   * The rows need wider types than `opened` or the last `widened` reported. The consumer must request the rows again.
   */
  | { kind: 'widened'; widened: Widened }
  | { kind: 'done'; result: Result }
  | ProblemMessage

type PostMessage = (message: ReaderMessage<object, object, object>, transfer?: ArrayBuffer[]) => void

const progressIntervalMs = 250

/** A reader thread's connection to the main thread. It is reused for all jobs of the thread. */
export class JobPort {
  readonly #post: PostMessage
  /** Resolves the promise for the types of the next `encode` command. */
  #resolveTypes: ((types: readonly StoredType[]) => void) | undefined
  #pool: ChunkPool | undefined
  #pass = 0
  #reportedAt = performance.now()

  constructor(post: PostMessage) {
    this.#post = post
  }

  handle(command: RowsCommand): void {
    if (command.kind === 'encode') this.#resolveTypes?.(command.types)
    // The consumer may still release chunks of an abandoned pass or an earlier file. They are not reused.
    else if (command.pass === this.#pass) this.#pool?.releaseChunk(command.memory)
  }

  /**
   * Reports the opened file. Resolves when the consumer requests the rows: to the types in which they will be stored.
   */
  open(opened: object): Promise<readonly StoredType[]> {
    this.#post({ kind: 'opened', opened })
    return this.#receiveTypes()
  }

  /** Asks the consumer to request the rows again with wider types. Resolves when it does: to the types for storage. */
  widen(widened: object): Promise<readonly StoredType[]> {
    this.#post({ kind: 'widened', widened })
    return this.#receiveTypes()
  }

  /** Starts a pass over the rows. Returns the pool from which the pass takes memory for its chunks. */
  startPass(limits: ChunkLimits): ChunkPool {
    const pass = ++this.#pass
    this.#pool = new ChunkPool(limits, (memory, length, rejected) =>
      this.#post({ kind: 'chunk', memory, length, rejected, pass }, [memory]),
    )
    return this.#pool
  }

  /** Reports progress, at most four times per second unless it is the last report. */
  progress(totals: ReadTotals, isLast = false): void {
    const now = performance.now()
    if (now - this.#reportedAt < progressIntervalMs && !isLast) return
    this.#reportedAt = now
    this.#post({ kind: 'progress', totals })
  }

  /** Frees the memory of the chunks at the end of a job. */
  endJob(): void {
    this.#pool = undefined
    this.#resolveTypes = undefined
  }

  #receiveTypes(): Promise<readonly StoredType[]> {
    const { promise, resolve } = Promise.withResolvers<readonly StoredType[]>()
    this.#resolveTypes = resolve
    return promise
  }
}

export interface ChunkLimits {
  /** The bytes of encoded rows per chunk. A longer row gets a chunk of its own. */
  chunkBytes: number
  /** The number of chunks that may wait for the consumer before the thread pauses. */
  chunksInFlight: number
}

/**
 * Reusable memory for a limited number of chunks. A chunk's memory is transferred to the consumer, which returns it
 * after use.
 */
export class ChunkPool implements ChunkSink {
  readonly #limits: ChunkLimits
  readonly #send: (memory: ArrayBuffer, length: number, rejected: RejectedRow[]) => void
  readonly #free: ArrayBuffer[] = []
  #inFlight = 0
  #wake: (() => void) | undefined

  constructor(limits: ChunkLimits, send: (memory: ArrayBuffer, length: number, rejected: RejectedRow[]) => void) {
    this.#limits = limits
    this.#send = send
  }

  /** Resolves when another chunk may be sent. */
  async waitForRoom(): Promise<void> {
    while (this.#inFlight >= this.#limits.chunksInFlight) {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#wake = resolve
      await promise
    }
  }

  open(minBytes: number): Uint8Array<ArrayBuffer> {
    const { chunkBytes } = this.#limits
    if (minBytes > chunkBytes) return new Uint8Array(minBytes)
    return new Uint8Array(this.#free.pop() ?? new ArrayBuffer(chunkBytes))
  }

  close({ buffer }: Uint8Array<ArrayBuffer>, length: number, rejected: RejectedRow[] = []): void {
    this.#inFlight++
    this.#send(buffer, length, rejected)
  }

  /** Sends rejected rows without a chunk, once another message may be sent. */
  async reject(rows: RejectedRow[]): Promise<void> {
    await this.waitForRoom()
    this.close(new Uint8Array(0), 0, rows)
  }

  /** Makes the memory of a chunk reusable. The consumer has read the chunk. */
  releaseChunk(memory: ArrayBuffer): void {
    this.#inFlight--
    if (memory.byteLength === this.#limits.chunkBytes) this.#free.push(memory)
    this.#wake?.()
  }
}
