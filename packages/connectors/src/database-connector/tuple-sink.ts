import { type RowEncoder, TupleBuffer, type RejectedRow } from '@sluice/row-stream'
import type { DatabaseLimits } from './database-config.ts'

export interface DatabaseTotals {
  bytesRead: number
  rowsRead: number
}

export interface TupleBatch {
  tuples: Uint8Array<ArrayBuffer>
  rejected: RejectedRow[]
  totals: DatabaseTotals
}

const maxRejectedPerBatch = 256
/** The maximum characters of a rejected row in the report. */
export const maxRawLength = 4096

/**
 * Receives the rows of a session. The session writes complete rows into `buffer` and calls `finishRow` after each. Full
 * batches are sent to the consumer. The consumer limits the number of batches in transit with credits, and returns
 * their memory for reuse.
 */
export class TupleSink {
  readonly buffer: TupleBuffer
  /** The number of rows until now, including rejected rows. */
  rows = 0
  readonly #send: (batch: TupleBatch) => void
  readonly #countBytes: () => number
  readonly #memory: ArrayBuffer[]
  #rejected: RejectedRow[] = []
  /** The number of batches that may be sent before the consumer must grant more credit. */
  #credits: number
  #onCredit: (() => void) | undefined

  /** `countBytes` returns the bytes received until now. `memory` contains buffers of an earlier sink, for reuse. */
  constructor(
    limits: DatabaseLimits,
    countBytes: () => number,
    send: (batch: TupleBatch) => void,
    memory: ArrayBuffer[] = [],
  ) {
    this.#memory = memory
    this.#send = send
    this.#countBytes = countBytes
    this.#credits = limits.chunksInFlight
    this.buffer = new TupleBuffer({ chunkBytes: limits.chunkBytes, reuse: () => this.#memory.pop() })
  }

  /** True if the reader must call `waitForRoom` before it continues. */
  get isFull(): boolean {
    return this.#credits <= 0
  }

  /**
   * Counts a row that was written into the buffer. Returns false if the reader must call `waitForRoom` before it
   * continues.
   */
  finishRow(): boolean {
    this.rows++
    if (!this.buffer.full) return true
    this.flush()
    return !this.isFull
  }

  /** Counts and reports a rejected row. Returns false if the reader must call `waitForRoom` before it continues. */
  reject(column: string | undefined, reason: string, rawRow: string): boolean {
    this.rows++
    this.#rejected.push({
      line: this.rows,
      ...(column !== undefined && { column }),
      reason,
      raw: rawRow.slice(0, maxRawLength),
    })
    if (this.#rejected.length < maxRejectedPerBatch) return true
    this.flush()
    return !this.isFull
  }

  /** Sends the current batch, unless it is empty. */
  flush(): void {
    if (this.buffer.at === 0 && this.#rejected.length === 0) return
    this.#credits--
    const totals = { bytesRead: this.#countBytes(), rowsRead: this.rows }
    const rejected = this.#rejected
    this.#rejected = []
    this.#send({ tuples: this.buffer.take(), rejected, totals })
  }

  /** Waits until the consumer accepts another batch. */
  async waitForRoom(): Promise<void> {
    while (this.isFull) {
      await new Promise<void>((resolve) => {
        this.#onCredit = resolve
      })
    }
  }

  addCredit(): void {
    this.#credits++
    this.#onCredit?.()
  }

  recycleMemory(memory: ArrayBuffer): void {
    this.#memory.push(memory)
  }
}

/**
 * Encodes a row into the sink, or rejects it. Returns false if the reader must call `waitForRoom` before it continues.
 */
export function writeRow(encoder: RowEncoder, sink: TupleSink, row: readonly unknown[]): boolean {
  if (encoder.write(row)) return sink.finishRow()
  const { column, reason } = encoder.fault!
  return sink.reject(column, `The value ${reason}.`, formatRawRow(row))
}

/** Returns the row as JSON for the list of rejected rows. Long values are truncated. */
export function formatRawRow(row: readonly unknown[]): string {
  return JSON.stringify(row.map(truncateValue), (_key, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value,
  )
}

function truncateValue(value: unknown): unknown {
  if (typeof value === 'string') return value.slice(0, maxRawLength)
  if (value instanceof Uint8Array) return `\\x${Buffer.from(value.subarray(0, maxRawLength)).toString('hex')}`
  return value
}
