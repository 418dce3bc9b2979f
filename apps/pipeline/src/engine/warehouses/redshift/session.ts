import type { Client, PoolClient } from 'pg'
import type { Batch, Opening, ReadColumn, ReadRows, Session } from '../dialects/dialect.ts'
import { type Sql, textOf } from '../dialects/sql.ts'
import type { Borrowed, Connections } from './connections.ts'
import { names } from './names.ts'
import { columnsOf, read } from './read.ts'

/** The longest that a statement may take where nobody says less. */
const longest = 86_400

/** As every connection is before anything is asked. Names keep their letters; times are in UTC; floats are their own text. */
function settings({ schemas = [], seconds = longest }: Opening): string {
  const path = schemas.length === 0 ? 'pg_catalog' : schemas.map(names.quoted).join(', ')
  return [
    'set enable_case_sensitive_identifier to true',
    `set timezone to 'UTC'`,
    `set datestyle to 'ISO, YMD'`,
    'set extra_float_digits to 2',
    `set statement_timeout to ${seconds * 1_000}`,
    `set search_path to ${path}`,
  ].join('; ')
}

/** See `Dialect.open`. */
export async function openSession(connections: Connections, opening: Opening): Promise<Session> {
  opening.signal?.throwIfAborted()
  const borrowed = await connections.open(opening.role)
  try {
    await borrowed.client.query(settings(opening))
    return new RedshiftSession(connections, borrowed, opening)
  } catch (error) {
    borrowed.release(true)
    throw error
  }
}

export class RedshiftSession implements Session {
  readonly #borrowed: Borrowed
  readonly #opening: Opening
  readonly #stop: () => void
  #sound = true
  #over = false

  constructor(connections: Connections, borrowed: Borrowed, opening: Opening) {
    this.#borrowed = borrowed
    this.#opening = opening
    this.#stop = () => {
      this.#sound = false
      void stopAtServer(connections, borrowed.client)
    }
    opening.signal?.addEventListener('abort', this.#stop, { once: true })
  }

  async execute(statement: Sql): Promise<void> {
    await this.#ask(statement)
  }

  async rows<Row>(statement: Sql): Promise<Row[]> {
    return (await this.#ask(statement)) as Row[]
  }

  async transaction<Result>(work: () => Promise<Result>): Promise<Result> {
    const { client } = this.#borrowed
    await client.query('begin')
    try {
      const result = await work()
      await client.query('commit')
      return result
    } catch (error) {
      await client.query('rollback').catch(() => (this.#sound = false))
      throw error
    }
  }

  async *read(text: string, values: readonly (string | null)[], batch: Batch): AsyncIterable<ReadRows> {
    this.#opening.signal?.throwIfAborted()
    try {
      yield* read(this.#borrowed.client, { text, values }, batch)
    } catch (error) {
      this.#sound = false
      this.#opening.signal?.throwIfAborted()
      throw error
    }
  }

  columns(text: string): Promise<readonly ReadColumn[]> {
    return this.#heard(() => columnsOf(this.#borrowed.client, text))
  }

  async #ask({ texts, values }: Sql): Promise<unknown[]> {
    const text = textOf({ texts, values }, (number) => `$${number}`)
    // By the extended protocol, which takes one statement and no more.
    const query = { text, values: [...values], queryMode: 'extended' }
    return (await this.#heard(() => this.#borrowed.client.query(query))).rows
  }

  async #heard<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
    this.#opening.signal?.throwIfAborted()
    try {
      return await ask()
    } catch (error) {
      if (!isServers(error)) this.#sound = false
      this.#opening.signal?.throwIfAborted()
      throw error
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#over) return
    this.#over = true
    this.#opening.signal?.removeEventListener('abort', this.#stop)
    this.#borrowed.release(!this.#sound)
  }
}

/** What the server said leaves the connection as it was. */
const isServers = (error: unknown): boolean => typeof (error as { severity?: unknown }).severity === 'string'

/** From another connection: the one that runs it listens to nobody. */
async function stopAtServer(connections: Connections, client: Client | PoolClient): Promise<void> {
  const { processID } = client as unknown as { processID: number | null }
  if (!processID) return
  const other = await connections.open('service').catch(() => undefined)
  if (!other) return
  await other.client.query(`select pg_terminate_backend(${processID})`).catch(() => {})
  other.release(false)
}
