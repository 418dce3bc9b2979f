import { Problem } from '@sluice/http-server'
import { type Kysely, sql } from 'kysely'
import type { DB } from '../database.ts'
import { neededBytes } from '../runs/needed-files.ts'

/** Milliseconds between two renewals of a reservation. */
const renewalMs = 30_000
/** Seconds after which a reservation that was not renewed expires: its process has died. */
const staleSeconds = 120
const stale = sql`renewed_at < now() - make_interval(secs => ${staleSeconds})`

/** An upload under way. */
interface RunningUpload {
  uid: string
  client: string
  /** Bytes that all files of the client may have together. */
  limit: number
}

/** Bytes that one upload reserves in its client's quota until `release` is called. All API processes see the reservation. */
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
   * Sets the reservation to `bytes`. Throws 422 if the files of the client and its running uploads together exceed the limit. Each
   * process writes its reservation before it reads the others: two uploads may both be refused, but together they never exceed the limit.
   */
  async reserve(bytes: number): Promise<void> {
    this.#bytes = bytes
    this.#renewals ??= setInterval(() => this.#renew(), renewalMs).unref()
    await this.#write()
    const { client, limit } = this.#upload
    // This is one statement, and a reservation is deleted after its file is stored: an upload may count twice, but always counts.
    const { rows } = await sql<{ bytes: number }>`
      select ${neededBytes(client)} + coalesce(sum(bytes), 0)::float8 as bytes
      from running_uploads where client = ${client} and not ${stale}`.execute(this.#db)
    if (rows[0]!.bytes > limit) throw quotaReached(limit)
  }

  /** Deletes the reservation. Never throws: a reservation that cannot be deleted expires. */
  async release(): Promise<void> {
    clearInterval(this.#renewals)
    this.#renewals = undefined
    // A renewal that is still running would write the row again.
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
          select uid from running_uploads where ${stale} and uid <> ${uid} for update skip locked
        )
      )
      insert into running_uploads (uid, client, bytes) values (${uid}, ${client}, ${this.#bytes})
      on conflict (uid) do update set bytes = excluded.bytes, renewed_at = now()`.execute(this.#db)
  }
}

const quotaReached = (limit: number) =>
  new Problem(422, 'files-limit-reached', 'The files of your organisation have reached their limit.', {
    detail: `The files of your organisation may have ${limit} bytes in all, with those that runs read and with uploads under way. Delete unused pipelines with uploads, or ask the operator for more (CLIENT_FILES_LIMIT).`,
  })
