import { Problem } from '@sluice/http'
import type { Kysely } from 'kysely'
import type { DB } from '../database.ts'
import { neededBytes } from '../engine/runs/needed-files.ts'

/** Bytes that the uploads under way in this process have reserved, by client. */
const reserved = new Map<string, number>()

/** The bytes that one upload reserves in the quota of its client, until they are released. */
export class QuotaReservation {
  readonly #db: Kysely<DB>
  readonly #client: string
  readonly #limit: number
  #bytes = 0

  constructor(db: Kysely<DB>, client: string, limit: number) {
    this.#db = db
    this.#client = client
    this.#limit = limit
  }

  reserve(bytes: number): void {
    this.#bytes += bytes
    const total = (reserved.get(this.#client) ?? 0) + bytes
    if (total === 0) reserved.delete(this.#client)
    else reserved.set(this.#client, total)
  }

  /** Throws 422 if the files of the client and its uploads under way exceed the limit. */
  async check(): Promise<void> {
    // Read before the files: an upload that is stored meanwhile may count twice, but is never missed.
    const underWay = reserved.get(this.#client) ?? 0
    if (underWay + (await neededBytes(this.#db, this.#client)) > this.#limit) throw quotaReached(this.#limit)
  }

  release(): void {
    this.reserve(-this.#bytes)
  }
}

const quotaReached = (limit: number) =>
  new Problem(422, 'files-limit-reached', 'The files of your organisation have reached their limit.', {
    detail: `The files of your organisation may have ${limit} bytes in all, with those that runs read and with uploads under way. Delete pipelines with uploads that nobody needs, or ask the operator for more (CLIENT_FILES_LIMIT).`,
  })
