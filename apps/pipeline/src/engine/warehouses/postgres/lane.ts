import type { Pool } from 'pg'
import { borrow, type Borrowed } from './access.ts'
import { CopyIn } from './copy-in.ts'

/** Of a connection that copies. It reads no table, so nobody needs to wait for its snapshot; see `older-readers.ts`. */
export const copyingName = 'sluice copy'

export interface CopyStatement {
  /** Quoted and qualified. */
  table: string
  /** Quoted, in the order of the fields. */
  columns: string
  freeze: boolean
}

/** Signature, flags, no extension; and the field count -1 that ends it all. */
const header = Buffer.concat([Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1'), Buffer.alloc(8)])
const trailer = Buffer.from([0xff, 0xff])

/** One connection, one transaction, one COPY. Disposing of one that was not committed cuts it off. */
export class Lane implements Disposable {
  /** Chunks that the socket has not taken yet. */
  pending = 0
  /** What it was given in all. */
  bytes = 0
  readonly #borrowed: Borrowed
  readonly #copy: CopyIn

  private constructor(borrowed: Borrowed, copy: CopyIn) {
    this.#borrowed = borrowed
    this.#copy = copy
  }

  /**
   * TRUNCATE in the same transaction makes FREEZE possible: frozen rows are visible to every snapshot. It locks the
   * table, so a lane that freezes is alone.
   */
  static async open(pool: Pool, statement: CopyStatement, signal: AbortSignal): Promise<Lane> {
    const { table, columns, freeze } = statement
    const borrowed = await borrow(pool, signal)
    try {
      const settings = `set local timezone = 'UTC'; set local datestyle = 'ISO, YMD'; set local application_name = '${copyingName}'`
      await borrowed.client.query(`begin; ${settings}${freeze ? `; truncate ${table}` : ''}`)
      const options = `format binary${freeze ? ', freeze' : ''}`
      const copy = borrowed.client.query(new CopyIn(`copy ${table} (${columns}) from stdin with (${options})`))
      const lane = new Lane(borrowed, copy)
      await copy.write(header)
      return lane
    } catch (error) {
      borrowed[Symbol.dispose]()
      throw error
    }
  }

  /** Settles when the COPY is over, whoever ended it. */
  get ended(): Promise<number> {
    return this.#copy.ended
  }

  async write(bytes: Uint8Array): Promise<void> {
    this.pending += 1
    this.bytes += bytes.byteLength
    try {
      await this.#copy.write(bytes)
    } finally {
      this.pending -= 1
    }
  }

  /** Resolves to the rows that the server counted; they are not committed yet. */
  async end(): Promise<number> {
    await this.#copy.write(trailer)
    return this.#copy.end()
  }

  /** Gives the connection back. */
  async commit(): Promise<void> {
    await this.#borrowed.client.query('commit')
    this.#borrowed.sound()
    this.#borrowed[Symbol.dispose]()
  }

  [Symbol.dispose](): void {
    this.#borrowed[Symbol.dispose]()
  }
}

/**
 * As many lanes as can be had, up to `wanted`: a server that has no connection to spare is content with one.
 * Throws when there is not even one.
 */
export async function openLanes(
  pool: Pool,
  statement: CopyStatement,
  wanted: number,
  signal: AbortSignal,
): Promise<Lane[]> {
  const open = () => Lane.open(pool, statement, signal)
  const settled = await Promise.allSettled(Array.from({ length: wanted }, open))
  const lanes = settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
  // Once more, alone: the server counts all who ask before it looks for room, so two may keep each other out of its last place.
  if (lanes.length === 0) return [await open()]
  if (signal.aborted) {
    for (const lane of lanes) lane[Symbol.dispose]()
    signal.throwIfAborted()
  }
  return lanes
}
