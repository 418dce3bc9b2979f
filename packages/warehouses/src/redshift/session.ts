import { type Client, DatabaseError, type FieldDef, type PoolClient } from 'pg'
import type { BatchLimits, SessionOptions, ReadColumn, ReadRows, SqlSession } from '../sql-warehouse/sql-dialect.ts'
import { type SqlStatement, formatStatement } from '../sql-warehouse/sql-statement.ts'
import type { BorrowedClient, ConnectionPool } from './connections.ts'
import { redshiftNames } from './sql-identifiers.ts'
import { parseJsonCell } from '../rows/json-cell.ts'
import type { RowCell } from '../warehouse.ts'
import type { ErrorPosition } from './map-server-errors.ts'
import { anyDecimal, redshiftTypes } from './column-types.ts'

/** The time limit of a statement in seconds, if the caller sets no shorter one. */
const maxStatementSeconds = 86_400

/**
 * Returns the statements that prepare each connection: names are case-sensitive, times are in UTC, and floats are
 * printed with the shortest exact text.
 */
function buildSessionSetup({ schemas = [], seconds = maxStatementSeconds }: SessionOptions): string {
  const path = schemas.length === 0 ? 'pg_catalog' : schemas.map(redshiftNames.quoted).join(', ')
  return [
    'set enable_case_sensitive_identifier to true',
    `set timezone to 'UTC'`,
    `set datestyle to 'ISO, YMD'`,
    'set extra_float_digits to 2',
    `set statement_timeout to ${seconds * 1_000}`,
    `set search_path to ${path}`,
  ].join('; ')
}

/** Opens a session on a connection for the role in `options`. Dispose the session to release the connection. */
export async function openSession(connections: ConnectionPool, options: SessionOptions): Promise<SqlSession> {
  options.signal?.throwIfAborted()
  const borrowed = await connections.open(options.role)
  try {
    await borrowed.client.query(buildSessionSetup(options))
    return new RedshiftSession(connections, borrowed, options)
  } catch (error) {
    borrowed.release(true)
    throw error
  }
}

export class RedshiftSession implements SqlSession {
  readonly #borrowed: BorrowedClient
  readonly #opening: SessionOptions
  readonly #stop: () => void
  /** True if the connection can be reused. */
  #isReusable = true
  #isDisposed = false

  constructor(connections: ConnectionPool, borrowed: BorrowedClient, opening: SessionOptions) {
    this.#borrowed = borrowed
    this.#opening = opening
    this.#stop = () => {
      this.#isReusable = false
      void terminateSession(connections, borrowed.client)
    }
    opening.signal?.addEventListener('abort', this.#stop, { once: true })
  }

  async execute(statement: SqlStatement): Promise<void> {
    await this.#query(statement)
  }

  async rows<Row>(statement: SqlStatement): Promise<Row[]> {
    return (await this.#query(statement)) as Row[]
  }

  async transaction<Result>(callback: () => Promise<Result>): Promise<Result> {
    const { client } = this.#borrowed
    await client.query('begin')
    try {
      const result = await callback()
      await client.query('commit')
      return result
    } catch (error) {
      await client.query('rollback').catch(() => {
        this.#isReusable = false
      })
      throw error
    }
  }

  async *read(text: string, values: readonly (string | null)[], batch: BatchLimits): AsyncIterable<ReadRows> {
    this.#opening.signal?.throwIfAborted()
    try {
      yield* readCursorRows(this.#borrowed.client, { text, values }, batch)
    } catch (error) {
      this.#isReusable = false
      this.#opening.signal?.throwIfAborted()
      throw error
    }
  }

  columns(text: string): Promise<readonly ReadColumn[]> {
    return this.#request(() => columnsOf(this.#borrowed.client, text))
  }

  plan(text: string): Promise<string> {
    return this.#request(() => planOf(this.#borrowed.client, text))
  }

  async #query({ texts, values }: SqlStatement): Promise<unknown[]> {
    const text = formatStatement({ texts, values }, (number) => `$${number}`)
    // The extended protocol rejects several statements in one text.
    const query = { text, values: [...values], queryMode: 'extended' }
    return (await this.#request(() => this.#borrowed.client.query(query))).rows
  }

  /** Sends a request. After a connection error, the connection is not reused. */
  async #request<Response>(send: () => Promise<Response>): Promise<Response> {
    this.#opening.signal?.throwIfAborted()
    try {
      return await send()
    } catch (error) {
      if (!isServerError(error)) this.#isReusable = false
      this.#opening.signal?.throwIfAborted()
      throw error
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isDisposed) return
    this.#isDisposed = true
    this.#opening.signal?.removeEventListener('abort', this.#stop)
    this.#borrowed.release(!this.#isReusable)
  }
}

/** True if the server sent the error. The connection then remains usable. */
const isServerError = (error: unknown): boolean => typeof (error as { severity?: unknown }).severity === 'string'

/**
 * Ends a session from another connection, because the connection that runs a statement accepts no other command. Never
 * throws.
 */
async function terminateSession(connections: ConnectionPool, client: Client | PoolClient): Promise<void> {
  const { processID } = client as unknown as { processID: number | null }
  if (!processID) return
  const otherConnection = await connections.open('service').catch(() => undefined)
  if (!otherConnection) return
  await otherConnection.client.query(`select pg_terminate_backend(${processID})`).catch(() => {})
  otherConnection.release(false)
}

const cursorDeclaration = 'declare sluice_rows cursor for\n'
const describePrefix = 'select * from (\n'
/** The number of rows in the first fetch. The size of these rows determines the size of later fetches. */
const firstFetchRows = 100

/** Redshift types by OID, as `format_type` prints them. All other types become text. */
const typesByOid: Readonly<Record<number, string>> = {
  16: 'boolean',
  20: 'bigint',
  21: 'smallint',
  23: 'integer',
  700: 'real',
  701: 'double precision',
  1082: 'date',
  1114: 'timestamp without time zone',
  1184: 'timestamp with time zone',
  4000: 'super',
}
const numericOid = 1700
const varcharOid = 1043
/** The modifier of `numeric` contains the precision in its upper 16 bits and the scale in its lowest 11 bits. */
const scaleMask = 0x7ff

/** node-postgres parses each cell with the function that `getTypeParser` returns. This one leaves the text as it is. */
const asText = { getTypeParser: () => (text: string) => text }

/**
 * See `SqlSession.read`. Reads through a cursor in a read-only transaction. The user's text is everything after
 * DECLARE, so the server accepts only a single query. Always yields at least once, so that the caller gets the columns.
 */
async function* readCursorRows(
  client: Client | PoolClient,
  { text, values }: { text: string; values: readonly (string | null)[] },
  batch: BatchLimits,
): AsyncGenerator<ReadRows> {
  await client.query('begin read only')
  const declare = { text: `${cursorDeclaration}${text}`, values: [...values], queryMode: 'extended' }
  await client.query(declare).catch((error: unknown) => {
    throw addErrorPosition(error, text, cursorDeclaration)
  })
  let rowsToFetch = Math.min(firstFetchRows, batch.rows)
  for (;;) {
    const fetched = await fetchCursorRows(client, rowsToFetch).catch((error: unknown) => {
      throw addErrorPosition(error, text, cursorDeclaration)
    })
    yield fetched
    const isCursorAtEnd = fetched.rows.length < rowsToFetch
    if (isCursorAtEnd) break
    rowsToFetch = nextFetchRows(fetched, batch)
  }
  // The transaction changed nothing. Its end closes the cursor.
  await client.query('rollback')
}

/** Fetches the next rows of the cursor, at most `rowCount`. */
async function fetchCursorRows(client: Client | PoolClient, rowCount: number): Promise<ReadRows> {
  const query = { text: `fetch forward ${rowCount} from sluice_rows`, rowMode: 'array' as const, types: asText }
  const { rows, fields } = await client.query<(string | null)[]>(query)
  const columns = fields.map(toReadColumn)
  return {
    columns,
    rows: rows.map((row) => row.map((cell, index) => toCell(cell, columns[index]!))),
    bytes: rows.reduce((sum, row) => sum + rowBytes(row), 0),
  }
}

/**
 * Returns the number of rows to fetch next: as many as fit into the batch if they are as large as the last ones, but at
 * most four times as many as the last ones, because later rows may be larger.
 */
function nextFetchRows(lastFetch: ReadRows, batch: BatchLimits): number {
  const lastRows = lastFetch.rows.length
  const bytesPerRow = Math.max(1, lastFetch.bytes / lastRows)
  const rowsThatFit = Math.ceil(batch.bytes() / bytesPerRow)
  return Math.max(1, Math.min(batch.rows, lastRows * 4, rowsThatFit))
}

/** Returns the result columns. Fetches no rows, so the server does not run the query. */
async function columnsOf(client: Client | PoolClient, text: string): Promise<ReadColumn[]> {
  const query = {
    text: `${describePrefix}${text}\n) as user_query limit 0`,
    queryMode: 'extended',
    rowMode: 'array' as const,
  }
  const { fields } = await client.query(query).catch((error: unknown) => {
    throw addErrorPosition(error, text, describePrefix)
  })
  return fields.map(toReadColumn)
}

const explainPrefix = `explain ${describePrefix}`

/** Returns the query plan. The user's text is in parentheses, so it cannot add ANALYZE, which would run the query. */
async function planOf(client: Client | PoolClient, text: string): Promise<string> {
  const query = { text: `${explainPrefix}${text}\n) as user_query`, queryMode: 'extended', rowMode: 'array' as const }
  const { rows } = await client.query<[string]>(query).catch((error: unknown) => {
    throw addErrorPosition(error, text, explainPrefix)
  })
  return rows.map(([line]) => line).join('\n')
}

/** Returns the approximate size of a row in bytes: each cell has a length of four bytes. */
function rowBytes(row: readonly (string | null)[]): number {
  let bytes = 0
  for (const cell of row) bytes += 4 + (cell?.length ?? 0)
  return bytes
}

function toReadColumn({ name, dataTypeID, dataTypeModifier }: FieldDef): ReadColumn {
  // The protocol adds 4 to a type's modifier. A type without a modifier has -1.
  const type = formatSqlType(dataTypeID, dataTypeModifier - 4)
  return { name, type, ...redshiftTypes.describe(type) }
}

/**
 * Returns a result column's type as a type for a table column. Text of unspecified length gets the maximum length.
 * `modifier` is the length of a text. For a decimal, it has the precision in its upper 16 bits and the scale in its
 * lower ones. It is negative for a type without one.
 */
function formatSqlType(oid: number, modifier: number): string {
  if (oid === numericOid) return modifier >= 0 ? `numeric(${modifier >> 16},${modifier & scaleMask})` : anyDecimal
  if (oid === varcharOid && modifier > 0) return `character varying(${modifier})`
  return typesByOid[oid] ?? redshiftTypes.longText
}

const numericDataTypes = new Set(['SMALLINT', 'INTEGER', 'FLOAT', 'DOUBLE'])

/** Converts the server's text of a value to the value that the API returns. */
function toCell(text: string | null, { dataType, type }: ReadColumn): RowCell {
  if (text === null) return null
  if (dataType === 'BOOLEAN') return text === 't'
  if (type === 'super') return parseJsonCell(text)
  // A decimal without a declared size has insignificant trailing zeros.
  if (type === anyDecimal && text.includes('.')) return text.replace(/\.?0+$/, '')
  if (!numericDataTypes.has(dataType)) return text
  const number = Number(text)
  // JSON cannot represent NaN and Infinity, so they become text.
  return Number.isFinite(number) ? number : text
}

/**
 * Adds the line and column in the user's text to an error of the server and returns the error. `prefix` is the SQL
 * before the user's text. The server counts characters, and JavaScript counts UTF-16 code units.
 */
function addErrorPosition(error: unknown, text: string, prefix: string): unknown {
  if (!(error instanceof DatabaseError) || error.position === undefined) return error
  const charactersBefore = Math.max(0, Number(error.position) - 1 - prefix.length)
  const lines = [...text].slice(0, charactersBefore).join('').split('\n')
  const position: ErrorPosition = { line: lines.length, column: [...lines.at(-1)!].length + 1 }
  return Object.assign(error, position)
}
