import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Client, Connection, Submittable } from 'pg'
import { RowEncoder, SourceProblem, type StoredType } from '@sluice/row-stream'
import type { DatabaseConfig } from '../database-connector/database-config.ts'
import { assertQueryRuns, DescribeCommand, decodePrecision } from '../postgres/column-types.ts'
import { cancelSession, PostgresByteLimit, signIn } from '../postgres/sign-in.ts'
import {
  type ReadNote,
  type SourceStatement,
  type SessionParameters,
  type DescribedStatement,
  type DatabaseEngine,
  type ClassifiedError,
  type DatabaseSession,
  wrapQuery,
  assertHasColumns,
  buildStatement,
} from '../database-connector/database-session.ts'
import { type TupleSink, writeRow } from '../database-connector/tuple-sink.ts'
import type { SourceClock } from '../database-connector/increments/cursor-value.ts'
import { buildWhere, postgresFilterSyntax, type RowFilter } from '../database-connector/increments/row-filter.ts'
import type { DataType } from '@sluice/contracts'
import { classifyPostgresError } from '../postgres/classify-postgres-error.ts'
import { getErrorMessage } from '../database-connector/database-problems.ts'

/** Matches the driver's error for a password method that only Amazon's drivers support. */
const unsupportedPasswordMethod = /Unknown authenticationOk message type/

/** Returns the problem code for an error of the server or the driver. Returns undefined for any other error. */
function classifyRedshiftError(error: unknown, config: DatabaseConfig): ClassifiedError | undefined {
  const message = getErrorMessage(error)
  if (unsupportedPasswordMethod.test(message))
    return {
      code: 'AUTHENTICATION_FAILED',
      detail:
        'Redshift stores the password of this user with SHA-256, which only Amazon’s drivers support. Set the password again with an MD5 hash.',
    }
  // The leader node reports these errors with the messages of PostgreSQL 8, on which Redshift is based.
  if (/password authentication failed|user ".*" does not exist/.test(message)) return { code: 'AUTHENTICATION_FAILED' }
  return classifyPostgresError(error, config)
}

export const engine: DatabaseEngine = {
  name: 'Amazon Redshift',
  open: openRedshiftSession,
  classifyError: classifyRedshiftError,
}

/**
 * Statements that start the transaction and change settings. Each setting is a separate statement, because Redshift has
 * neither `set_config` nor a list of known settings.
 */
const sessionStatements = [
  'begin read only',
  `set timezone to 'UTC'`,
  `set datestyle to 'ISO, YMD'`,
  // Prints all digits of a float.
  'set extra_float_digits to 2',
  'set statement_timeout to 0',
]

/**
 * The number of rows in the first fetch, the maximum in later ones, and about how many bytes a later fetch requests.
 */
const fetchLimits = { firstRows: 50, maxRows: 10_000, targetBytes: 2 * 1024 * 1024 }

async function openRedshiftSession(parameters: SessionParameters): Promise<DatabaseSession> {
  const byteLimit = new PostgresByteLimit(parameters.config, engine.name)
  let clock = ''
  const { client, socket } = await signIn(parameters, byteLimit, async (signedInClient) => {
    clock = await readServerClock(signedInClient, parameters.config)
    for (const statement of sessionStatements) await signedInClient.query(statement)
  })
  return new RedshiftSession(client, socket, byteLimit, parameters, clock)
}

/**
 * Returns the cluster's clock in UTC. Throws if the server is PostgreSQL: it would accept all statements, but this
 * connector would read it slowly and not support PostgreSQL's own types.
 */
async function readServerClock(client: Client, { host, port }: DatabaseConfig): Promise<string> {
  const { rows } = await client.query<{ version: string }>('select version() as version')
  const isRedshift = /redshift/i.test(rows[0]?.version ?? '')
  if (!isRedshift)
    throw new SourceProblem(
      'OTHER_PROTOCOL',
      `${host}, port ${port} is PostgreSQL, not Amazon Redshift. Choose the type SQL_DATABASE_D.`,
    )
  const now = await client.query<{ clock: string }>('select getdate()::varchar as clock')
  return now.rows[0]!.clock
}

/**
 * A session that reads rows through a cursor. Redshift does not support COPY to a client, and sends the complete
 * result of a query without a cursor at once.
 */
class RedshiftSession implements DatabaseSession {
  readonly notes: ReadNote[] = []
  readonly #client: Client
  readonly #socket: Socket
  readonly #byteLimit: PostgresByteLimit
  readonly #parameters: SessionParameters
  readonly #clock: string

  constructor(
    client: Client,
    socket: Socket,
    byteLimit: PostgresByteLimit,
    parameters: SessionParameters,
    clock: string,
  ) {
    this.#parameters = parameters
    this.#clock = clock
    this.#client = client
    this.#socket = socket
    this.#byteLimit = byteLimit
  }

  received = (): number => this.#socket.bytesRead

  /** Describes a statement. The columns have no key, because Redshift does not enforce declared keys. */
  async describe(statement: SourceStatement): Promise<DescribedStatement> {
    const text = buildStatement(statement, (name) => this.#client.escapeIdentifier(name))
    // First describes the query alone, because only a single complete statement may be embedded in another query.
    const describeCommand = new DescribeCommand(text)
    this.#client.query(describeCommand)
    const fields = await describeCommand.fields
    assertHasColumns(fields, statement)
    const labels = fields.map(({ name }) => name)
    const typeNames = await this.#readTypeNames(fields.map(({ dataTypeID }) => dataTypeID))
    const types = fields.map(({ dataTypeID, dataTypeModifier }) => ({
      name: typeNames.get(dataTypeID) ?? '',
      modifier: dataTypeModifier,
    }))
    const query = { text, types, labels }
    await assertQueryRuns(this.#client, buildQuery(query, ['*']))
    return {
      columns: types.map((type, index) => ({ label: labels[index]!, ...redshiftColumnType(type) })),
      notes: [],
      findLargest: (index, filter) => this.#findLargest(query, index, filter),
      read: (storedTypes, sink, filter) => this.#read(query, storedTypes, sink, filter),
    }
  }

  async #findLargest(query: RedshiftQuery, index: number, filter: RowFilter): Promise<string | null> {
    const text = buildQuery(query, [`max(c${index + 1})::varchar as largest`], filter)
    const { rows } = await this.#client.query<{ largest: string | null }>(text)
    return rows[0]!.largest
  }

  /** Returns the clock that was read before the transaction started. A cluster's clock is always in UTC. */
  async readClock(): Promise<SourceClock> {
    return { utc: this.#clock, local: this.#clock }
  }

  async #read(
    query: RedshiftQuery,
    storedTypes: readonly StoredType[],
    sink: TupleSink,
    filter: RowFilter,
  ): Promise<ReadNote[]> {
    const { types, labels } = query
    const columns = storedTypes.map((type, index) => ({ label: labels[index]!, ...type }))
    const encoder = new RowEncoder(columns, sink.buffer)
    const hasBinaryColumns = types.some(({ name }) => name === 'varbyte')
    const writeTextRow = (row: readonly (string | null)[]) => {
      const convertedRow = hasBinaryColumns ? row.map((text, index) => addBinaryPrefix(text, types[index]!)) : row
      return writeRow(encoder, sink, convertedRow)
    }
    const rowHandler = { handleRow: writeTextRow, waitForRoom: () => sink.waitForRoom() }
    const expressions = types.map((type, index) => readExpression(`c${index + 1}`, type))
    await this.#client.query(`declare sluice_rows cursor for ${buildQuery(query, expressions, filter)}`)
    let rowsPerFetch = fetchLimits.firstRows
    for (;;) {
      const bytesBefore = this.received()
      const rowsFetched = await this.#fetch(rowsPerFetch, rowHandler)
      if (rowsFetched < rowsPerFetch) break
      const bytesPerRow = Math.max(1, (this.received() - bytesBefore) / rowsFetched)
      const rowsOfTargetBytes = Math.max(1, Math.floor(fetchLimits.targetBytes / bytesPerRow))
      rowsPerFetch = Math.min(fetchLimits.maxRows, rowsPerFetch * 4, rowsOfTargetBytes)
    }
    await this.#client.query('close sluice_rows')
    return []
  }

  cancel(): Promise<void> {
    return cancelSession(this.#parameters, this.#client)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#socket.destroy()
  }

  /** Fetches the next rows of the cursor. Returns their number. */
  async #fetch(rows: number, rowHandler: FetchedRowHandler): Promise<number> {
    const fetch = new FetchCommand(`fetch forward ${rows} from sluice_rows`, rowHandler)
    this.#byteLimit.readsRowByRow = true
    this.#client.query(fetch)
    try {
      return await fetch.done
    } finally {
      this.#byteLimit.readsRowByRow = false
    }
  }

  async #readTypeNames(oids: readonly number[]): Promise<Map<number, string>> {
    const distinctOids = [...new Set(oids)]
    const { rows } = await this.#client.query<{ oid: string; name: string }>(
      `select oid::bigint as oid, typname::varchar as name from pg_catalog.pg_type where oid in (${distinctOids.join(', ')})`,
    )
    return new Map(rows.map(({ oid, name }) => [Number(oid), name]))
  }
}

/** The SQL of a described query, with the type and label of each column. */
interface RedshiftQuery {
  text: string
  types: readonly RedshiftType[]
  labels: readonly string[]
}

const buildQuery = ({ text, types }: RedshiftQuery, expressions: readonly string[], filter: RowFilter = {}): string =>
  wrapQuery(text, expressions, types.length, buildWhere(filter, postgresFilterSyntax))

interface FetchedRowHandler {
  /** Receives a row. Returns false if the caller must await `waitForRoom` before the next row. */
  handleRow(row: readonly (string | null)[]): boolean
  waitForRoom(): Promise<void>
}

/**
 * A driver command that passes a cursor's rows to a handler as the server's texts. The driver keeps no rows, and the
 * server waits while the handler is busy.
 */
class FetchCommand implements Submittable {
  /** Resolves to the number of fetched rows once the handler can take more. */
  readonly done: Promise<number>
  readonly #text: string
  readonly #rowHandler: FetchedRowHandler
  readonly #completion = Promise.withResolvers<number>()
  #stream: Duplex | undefined
  /** Resolves when the handler can take more rows. Undefined unless the stream is paused. */
  #pause: Promise<void> | undefined
  #rows = 0
  #handlerError: unknown

  constructor(text: string, rowHandler: FetchedRowHandler) {
    this.#text = text
    this.#rowHandler = rowHandler
    this.done = this.#completion.promise
    this.done.catch(() => {})
  }

  submit(connection: Connection): void {
    this.#stream = connection.stream
    connection.query(this.#text)
  }

  handleRowDescription(): void {}

  handleDataRow({ fields }: { fields: (string | null)[] }): void {
    this.#rows++
    if (this.#handlerError !== undefined) return
    try {
      if (!this.#rowHandler.handleRow(fields)) this.#pause ??= this.#pauseUntilRoom()
    } catch (error) {
      this.#handlerError = error
    }
  }

  handleCommandComplete(): void {}

  handleError(error: Error): void {
    this.#completion.reject(error)
  }

  handleReadyForQuery(): void {
    if (this.#handlerError !== undefined) this.#completion.reject(this.#handlerError)
    else this.#completion.resolve(this.#pause ? this.#pause.then(() => this.#rows) : this.#rows)
  }

  async #pauseUntilRoom(): Promise<void> {
    this.#stream?.pause()
    await this.#rowHandler.waitForRoom()
    this.#pause = undefined
    this.#stream?.resume()
  }
}

/** The type of a column: its name in the catalogue, and its encoded type modifier. */
interface RedshiftType {
  name: string
  modifier: number
}

const columnTypesByName: Record<string, DataType> = {
  int2: 'SMALLINT',
  int4: 'INTEGER',
  int8: 'BIGINT',
  oid: 'BIGINT',
  float4: 'FLOAT',
  float8: 'DOUBLE',
  numeric: 'DECIMAL',
  bool: 'BOOLEAN',
  date: 'DATE',
  timestamp: 'TIMESTAMP',
  timestamptz: 'TIMESTAMPTZ',
  super: 'JSONB',
  geometry: 'GEOMETRY',
  geography: 'GEOMETRY',
}

/** Returns the column type for a Redshift type. Types that are not in the list above become text. */
function redshiftColumnType({ name, modifier }: RedshiftType): StoredType {
  const dataType = columnTypesByName[name] ?? 'TEXT'
  return dataType === 'DECIMAL' ? { dataType, ...decodePrecision(modifier) } : { dataType }
}

/**
 * Returns the SQL expression that reads `column` as text without losing digits. Geometry is read as extended well-known
 * text (EWKT).
 */
const readExpression = (column: string, { name }: RedshiftType): string =>
  name === 'geometry' || name === 'geography' ? `st_asewkt(${column})` : column

/** Adds the prefix `\x` to binary data, which Redshift returns as hexadecimal digits without it. */
function addBinaryPrefix(text: string | null, { name }: RedshiftType): string | null {
  if (text === null || name !== 'varbyte') return text
  return text.startsWith('\\x') ? text : `\\x${text}`
}
