import type { Socket } from 'node:net'
import type { Client } from 'pg'
import { RowEncoder } from '@sluice/tuples'
import { SourceProblem, type StoredType } from '../../source.ts'
import type { DatabaseConfig } from '../database-config.ts'
import { Describe } from '../postgres/describe.ts'
import { cancelSession, signIn } from '../postgres/sign-in.ts'
import { embedded } from '../postgres/statements.ts'
import type { Note, Statement } from '../protocol.ts'
import type { Access, Described, Engine, Session } from '../session.ts'
import { NotAllowed, statementText } from '../statements.ts'
import type { TupleSink } from '../tuple-sink.ts'
import { writeRow } from '../write-row.ts'
import { RedshiftArrivals } from './arrivals.ts'
import { columnOf, readExpression, shownText, type TypeInfo } from './columns.ts'
import { Fetch, type Taker } from './fetch.ts'
import { explainRedshift } from './problems.ts'

export const redshift: Engine = { name: 'Amazon Redshift', open, explain: explainRedshift }

/** Each by itself: Redshift has no `set_config`, and no list of settings that are known. */
const opening = [
  'begin read only',
  `set timezone to 'UTC'`,
  `set datestyle to 'ISO, YMD'`,
  // So that a float is its own text, whatever its last digit.
  'set extra_float_digits to 2',
  'set statement_timeout to 0',
]

/** Rows of the first fetch, and the most of any; between them as many as come to about so many bytes. */
const rowsAtOnce = { first: 50, most: 10_000, bytes: 2 * 1024 * 1024 }

async function open(access: Access): Promise<Session> {
  const arrivals = new RedshiftArrivals(access.config, redshift.name)
  const { client, socket } = await signIn(access, arrivals, async (opened) => {
    await demandRedshift(opened, access.config)
    for (const statement of opening) await opened.query(statement)
  })
  return new RedshiftSession(client, socket, arrivals, access)
}

/** PostgreSQL answers all of this too, and would be read slowly, and as having none of its own types. */
async function demandRedshift(client: Client, { host, port }: DatabaseConfig): Promise<void> {
  const { rows } = await client.query<{ version: string }>('select version() as version')
  if (/redshift/i.test(rows[0]?.version ?? '')) return
  throw new SourceProblem(
    'OTHER_PROTOCOL',
    `${host}, port ${port} is PostgreSQL, not Amazon Redshift. Choose the type SQL_DATABASE_D.`,
  )
}

/** Rows come by a cursor: Redshift copies to no client, and sends a whole result at once to whoever asks for it plainly. */
class RedshiftSession implements Session {
  readonly notes: Note[] = []
  readonly #client: Client
  readonly #socket: Socket
  readonly #arrivals: RedshiftArrivals
  readonly #access: Access
  #text = ''
  #types: TypeInfo[] = []
  #labels: string[] = []

  constructor(client: Client, socket: Socket, arrivals: RedshiftArrivals, access: Access) {
    this.#access = access
    this.#client = client
    this.#socket = socket
    this.#arrivals = arrivals
  }

  received = (): number => this.#socket.bytesRead

  /** Keys that are declared are kept by nobody there, so none is offered. */
  async describe(statement: Statement): Promise<Described> {
    this.#text = statementText(statement, (name) => this.#client.escapeIdentifier(name))
    // Alone and first: only what is one whole statement by itself is put inside another one.
    const describe = new Describe(this.#text)
    this.#client.query(describe)
    const fields = await describe.fields
    if (fields.length === 0) throw new NotAllowed()
    this.#labels = fields.map(({ name }) => name)
    const names = await this.#typeNames(fields.map(({ dataTypeID }) => dataTypeID))
    this.#types = fields.map(({ dataTypeID, dataTypeModifier }) => ({
      name: names.get(dataTypeID) ?? '',
      modifier: dataTypeModifier,
    }))
    await this.#demandQuery()
    const columns = this.#types.map((type, index) => ({ label: this.#labels[index]!, ...columnOf(type) }))
    return { columns, notes: [] }
  }

  async read(types: readonly StoredType[], sink: TupleSink): Promise<Note[]> {
    const encoder = new RowEncoder(
      types.map((type, index) => ({ label: this.#labels[index]!, ...type })),
      sink.buffer,
    )
    const bytes = this.#types.flatMap(({ name }, index) => (name === 'varbyte' ? [index] : []))
    const take = (row: readonly (string | null)[]) => {
      const shown = bytes.length === 0 ? row : row.map((text, index) => shownText(text, this.#types[index]!))
      return writeRow(encoder, sink, shown)
    }
    const taker = { take, drained: () => sink.drained() }
    const list = this.#types.map((type, index) => readExpression(`c${index + 1}`, type))
    await this.#client.query(`declare sluice_rows cursor for ${this.#embedded(list)}`)
    let size = rowsAtOnce.first
    for (;;) {
      const before = this.received()
      const came = await this.#fetch(size, taker)
      if (came < size) break
      const each = Math.max(1, (this.received() - before) / came)
      size = Math.min(rowsAtOnce.most, size * 4, Math.max(1, Math.floor(rowsAtOnce.bytes / each)))
    }
    await this.#client.query('close sluice_rows')
    return []
  }

  cancel(): Promise<void> {
    return cancelSession(this.#access, this.#client)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#socket.destroy()
  }

  async #fetch(rows: number, taker: Taker): Promise<number> {
    const fetch = new Fetch(`fetch forward ${rows} from sluice_rows`, taker)
    this.#arrivals.fetching = true
    this.#client.query(fetch)
    try {
      return await fetch.done
    } finally {
      this.#arrivals.fetching = false
    }
  }

  /** Asks for no rows: whether it can be read from, and whether the login may, is known all the same. */
  async #demandQuery(): Promise<void> {
    try {
      const query = { text: `${this.#embedded(['*'])} limit 0`, queryMode: 'extended' }
      await this.#client.query(query)
    } catch (error) {
      if ((error as { code?: string }).code !== '42601') throw error
      throw new NotAllowed(undefined, { cause: error })
    }
  }

  #embedded(expressions: readonly string[]): string {
    return embedded(this.#text, expressions, this.#types.length)
  }

  async #typeNames(oids: readonly number[]): Promise<Map<number, string>> {
    const { rows } = await this.#client.query<{ oid: string; name: string }>(
      `select oid::bigint as oid, typname::varchar as name from pg_catalog.pg_type where oid in (${[...new Set(oids)].join(', ')})`,
    )
    return new Map(rows.map(({ oid, name }) => [Number(oid), name]))
  }
}
