import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Lock, RequestRelease } from '@tus/server'
import { type Kysely, sql } from 'kysely'
import type { DB } from '../../database.ts'
import { uploadLocked, uploadMissing } from './upload-records.ts'

/** Seconds after which a lease expires if its process does not renew it, for example because it crashed. */
const leaseSeconds = 15
const renewalMs = 1_000
/**
 * The holder of a lease stops writing this many milliseconds before the lease expires, because a write that has started
 * takes time.
 */
const marginMs = 5_000
/**
 * Milliseconds for which a request waits for the lease of another one. Longer than the lease, so that it outlasts
 * that of a crashed process.
 */
const waitMs = 20_000
const pollMs = 150

/**
 * The exclusive right of one request to write to an upload, across all processes that share the database. It is a row
 * with a deadline instead of an advisory lock, because a lock would occupy a database connection for as long as the
 * caller sends bytes.
 */
export class UploadLease implements Lock {
  readonly id = randomUUID()
  readonly #db: Kysely<DB>
  readonly #uid: string
  /** The time until which no other request gets the lease, in milliseconds of `performance.now()`. */
  #until = 0
  #timer: NodeJS.Timeout | undefined
  #renewal: Promise<void> | undefined

  constructor(db: Kysely<DB>, uid: string) {
    this.#db = db
    this.#uid = uid
  }

  /**
   * Waits for the lease, and requests its current holder to release it. Later calls `release` when another request
   * waits for the lease or the lease is lost.
   */
  async lock(signal: AbortSignal, release: RequestRelease): Promise<void> {
    const deadline = performance.now() + waitMs
    for (;;) {
      const start = performance.now()
      if (await this.#acquire()) {
        this.#until = start + leaseSeconds * 1000
        return this.#scheduleRenewal(release)
      }
      if (performance.now() > deadline) throw uploadLocked()
      await sleep(pollMs, undefined, { signal })
    }
  }

  isHeld(): boolean {
    return performance.now() < this.#until - marginMs
  }

  async unlock(): Promise<void> {
    clearTimeout(this.#timer)
    this.#until = 0
    // Wait for a renewal that is still running, because it would schedule another one.
    await this.#renewal
    clearTimeout(this.#timer)
    await this.#db
      .updateTable('resumable_uploads')
      .set({ lease: null, leased_until: null, release_requested: false })
      .where('uid', '=', this.#uid)
      .where('lease', '=', this.id)
      .execute()
      // If the lease cannot be released, it expires by itself.
      .catch(() => {})
  }

  async #acquire(): Promise<boolean> {
    const { rows } = await sql<{ lease: string }>`
      update resumable_uploads set
        lease = case when ${isFree} then ${this.id}::uuid else lease end,
        leased_until = case when ${isFree} then ${leaseEnd} else leased_until end,
        release_requested = not ${isFree}
      where uid = ${this.#uid} returning lease`.execute(this.#db)
    if (!rows[0]) throw uploadMissing()
    return rows[0].lease === this.id
  }

  #scheduleRenewal(release: RequestRelease): void {
    this.#timer = setTimeout(() => {
      this.#renewal = this.#renew(release)
    }, renewalMs)
  }

  async #renew(release: RequestRelease): Promise<void> {
    const start = performance.now()
    try {
      const { rows } = await sql<{ release_requested: boolean }>`
        update resumable_uploads set leased_until = ${leaseEnd}
        where uid = ${this.#uid} and lease = ${this.id} returning release_requested`.execute(this.#db)
      const isUnlocked = this.#until === 0
      if (isUnlocked) return
      const isStillHeld = rows[0] !== undefined
      this.#until = isStillHeld ? start + leaseSeconds * 1000 : 0
      if (!isStillHeld || rows[0]!.release_requested) void release()
    } catch {
      // A renewal failed. The lease stays valid until its deadline.
      if (!this.isHeld()) void release()
    }
    if (this.#until > 0) this.#scheduleRenewal(release)
  }
}

const isFree = sql`(lease is null or leased_until < now())`
const leaseEnd = sql`now() + make_interval(secs => ${leaseSeconds})`
