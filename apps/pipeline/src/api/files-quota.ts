import { Problem } from '@sluice/http-server'
import { type Kysely, sql } from 'kysely'
import type { DB } from '../database.ts'
import { sumBytesInUse } from '../runs/files-in-use.ts'

const renewalMs = 30_000
/** Seconds after which a reservation expires if its process does not renew it, for example because it crashed. */
const staleSeconds = 120
const isUploadStale = sql`renewed_at < now() - make_interval(secs => ${staleSeconds})`

interface RunningUpload {
  uid: string
  client: string
  /** The maximum total size in bytes of the organisation's files. */
  limit: number
}

/**
 * Reserves bytes of the organisation's file quota for one upload until `release` is called. All API processes take the
 * reservation into account.
 */
export class QuotaReservation {
  readonly #db: Kysely<DB>
  readonly #upload: RunningUpload
  #bytes = 0
  #renewals: NodeJS.Timeout | undefined
  #renewal: Promise<void> | undefined

  constructor(db: Kysely<DB>, upload: RunningUpload) {
    this.#db = db
    this.#upload = upload
  }

  /**
   * Changes the reservation to `bytes`. Throws 422 if the organisation's files and running uploads would exceed the
   * quota. Each process writes its reservation before it reads the others. Two concurrent uploads may thus both be
   * refused, but never exceed the quota together.
   */
  async reserve(bytes: number): Promise<void> {
    this.#bytes = bytes
    this.#renewals ??= setInterval(() => this.#renew(), renewalMs).unref()
    await this.#write()
    const { client, limit } = this.#upload
    // A reservation is deleted only after its file is stored. This query may thus count an upload twice, but never
    // misses one.
    const { rows } = await sql<{ bytes: number }>`
      select ${sumBytesInUse(client)} + coalesce(sum(bytes), 0)::float8 as bytes
      from running_uploads where client = ${client} and not ${isUploadStale}`.execute(this.#db)
    if (rows[0]!.bytes > limit) throw quotaExceeded(limit)
  }

  /** Deletes the reservation. Never throws, because a reservation that cannot be deleted expires. */
  async release(): Promise<void> {
    clearInterval(this.#renewals)
    this.#renewals = undefined
    // Wait for a renewal that is still running, because it would insert the row again.
    await this.#renewal
    await this.#db
      .deleteFrom('running_uploads')
      .where('uid', '=', this.#upload.uid)
      .execute()
      .catch(() => {})
  }

  #renew(): void {
    this.#renewal = this.#write().catch(() => {})
  }

  async #write(): Promise<void> {
    const { uid, client } = this.#upload
    await sql`
      with expired as (
        delete from running_uploads where uid in (
          select uid from running_uploads where ${isUploadStale} and uid <> ${uid} for update skip locked
        )
      )
      insert into running_uploads (uid, client, bytes) values (${uid}, ${client}, ${this.#bytes})
      on conflict (uid) do update set bytes = excluded.bytes, renewed_at = now()`.execute(this.#db)
  }
}

const quotaExceeded = (limit: number) =>
  new Problem(422, 'files-limit-reached', 'The files of your organisation have reached their limit.', {
    detail: `The uploaded files of your organisation may have ${limit} bytes in total, including uploads in progress and files that runs still read. Delete unused upload pipelines, or ask the operator to raise CLIENT_FILES_LIMIT.`,
  })
