import { Problem } from '@sluice/http'
import type { Kysely } from 'kysely'
import type { DB } from '../database.ts'
import { neededBytes } from '../engine/runs/needed-files.ts'

/** Bytes that running uploads of this process have reserved, by client. */
const reserved = new Map<string, number>()

/** Bytes that one upload reserves in its client's quota until `release` is called. */
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
    // Reading reservations before files may count an upload that is being stored twice, but never misses it.
    const underWay = reserved.get(this.#client) ?? 0
    if (underWay + (await neededBytes(this.#db, this.#client)) > this.#limit) throw quotaReached(this.#limit)
  }

  release(): void {
    this.reserve(-this.#bytes)
  }
}

const quotaReached = (limit: number) =>
  new Problem(422, 'files-limit-reached', 'The files of your organisation have reached their limit.', {
    detail: `The files of your organisation may have ${limit} bytes in all, with those that runs read and with uploads under way. Delete unused pipelines with uploads, or ask the operator for more (CLIENT_FILES_LIMIT).`,
  })
