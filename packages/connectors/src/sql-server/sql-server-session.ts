import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import mssql from 'mssql'
import { RowEncoder, type SourceProblem, type StoredType } from '@sluice/row-stream'
import {
  type ReadNote,
  type SourceStatement,
  type SessionParameters,
  type DatabaseEngine,
  type DatabaseSession,
  type DescribedStatement,
  wrapQuery,
  assertHasColumns,
  buildStatement,
} from '../database-connector/database-session.ts'
import { openSocket } from '../database-connector/open-socket.ts'
import { type TupleSink, writeRow } from '../database-connector/tuple-sink.ts'
import { InboundByteLimit } from '../database-connector/inbound-byte-limit.ts'
import {
  type ServerField,
  quoteName,
  sqlServerColumnType,
  assertQuery,
  readExpression,
  createFilterSyntax,
  formatCursorText,
} from './column-types.ts'
import type { SourceClock } from '../database-connector/increments/cursor-value.ts'
import { buildWhere, type RowFilter } from '../database-connector/increments/row-filter.ts'
import { refuseUnencryptedLogin } from '@sluice/database'
import { classifySqlServerError } from './classify-sql-server-error.ts'

export const engine: DatabaseEngine = {
  name: 'SQL Server',
  open: openSqlServerSession,
  classifyError: classifySqlServerError,
}

/** The packet size in bytes: four times the driver's default, and smaller than a TLS record. */
const packetSize = 16_000

async function openSqlServerSession(parameters: SessionParameters): Promise<DatabaseSession> {
  const { host, port, database, username, password, ssl, trustServerCertificate } = parameters.config
  const sockets: Socket[] = []
  const byteLimit = new SqlServerByteLimit(parameters.config, engine.name)
  const pool = new mssql.ConnectionPool({
    server: host,
    port,
    database,
    user: username,
    password,
    connectionTimeout: parameters.limits.signIn,
    requestTimeout: 0,
    pool: { min: 0, max: 1 },
    // The pool has only one connection, because a session must always use the same one.
    validateConnection: false,
    beforeConnect: (driver) => byteLimit.watch(driver as never),
    options: {
      encrypt: ssl,
      trustServerCertificate,
      useUTC: true,
      packetSize,
      appName: 'sluice',
      // The socket always connects to the checked address, even if the server redirects clients to another one.
      connector: async () => {
        // Throwing here stops the pool, which would otherwise open another connection.
        if (byteLimit.problem) throw byteLimit.problem
        const socket = await openSocket(parameters)
        sockets.push(socket)
        byteLimit.watchSignIn(socket)
        return ssl ? refuseUnencryptedLogin(socket) : socket
      },
    },
  })
  pool.on('error', () => {})
  const close = () => {
    for (const socket of sockets) socket.destroy()
  }
  try {
    await pool.connect()
    byteLimit.isSignedIn = true
    const transaction = new mssql.Transaction(pool)
    transaction.on('error', () => {})
    const { hasSnapshots, ...clock } = await readServerState(pool)
    const { SNAPSHOT, READ_COMMITTED } = mssql.ISOLATION_LEVEL
    await transaction.begin(hasSnapshots ? SNAPSHOT : READ_COMMITTED)
    const received = () => sockets.reduce((sum, { bytesRead }) => sum + bytesRead, 0)
    const session = new SqlServerSession(transaction, byteLimit, { received, close, clock })
    const readsSeveralTables = (parameters.config.tables?.length ?? 0) > 1
    if (readsSeveralTables && !hasSnapshots) session.notes.push(noSnapshotNote)
    return session
  } catch (error) {
    close()
    throw error
  }
}

const noSnapshotNote: ReadNote = {
  level: 'WARN',
  message:
    'The tables are read one after the other, and not all at the same moment, because the database does not allow snapshots. To allow them, set ALLOW_SNAPSHOT_ISOLATION to ON in the database.',
}

/**
 * Returns the database's clock, and true in `hasSnapshots` if the database allows snapshots. Call it before the
 * transaction starts.
 */
async function readServerState(pool: mssql.ConnectionPool): Promise<SourceClock & { hasSnapshots: boolean }> {
  const { recordset } = await pool.request().query<SourceClock & { state: number }>(
    `select snapshot_isolation_state as state, convert(varchar(40), sysutcdatetime(), 126) as utc, convert(varchar(40), sysdatetime(), 126) as local
     from sys.databases where database_id = db_id()`,
  )
  const { state = 0, utc = '', local = '' } = recordset[0] ?? {}
  return { hasSnapshots: state === 1, utc, local }
}

/** The SQL of a described query, with its columns. */
interface SqlServerQuery {
  text: string
  fields: readonly ServerField[]
}

function buildQuery({ text, fields }: SqlServerQuery, expressions: readonly string[], filter: RowFilter = {}): string {
  const whereClause = buildWhere(filter, createFilterSyntax(fields))
  return wrapQuery(text, expressions, fields.length, whereClause)
}

/** A session that reads in a transaction and never commits it. The server rolls it back when the connection ends. */
class SqlServerSession implements DatabaseSession {
  readonly notes: ReadNote[] = []
  readonly received: () => number
  readonly #transaction: mssql.Transaction
  readonly #byteLimit: SqlServerByteLimit
  readonly #close: () => void
  readonly #clock: SourceClock
  #request: mssql.Request | undefined

  constructor(
    transaction: mssql.Transaction,
    byteLimit: SqlServerByteLimit,
    { received, close, clock }: { received: () => number; close: () => void; clock: SourceClock },
  ) {
    this.#transaction = transaction
    this.#byteLimit = byteLimit
    this.received = received
    this.#close = close
    this.#clock = clock
  }

  async describe(statement: SourceStatement): Promise<DescribedStatement> {
    const text = buildStatement(statement, quoteName)
    assertQuery(text)
    // First describes the query alone, because only a single complete query may be embedded in another one.
    const fields = await this.#describeFields(text)
    assertHasColumns(fields, statement)
    const query = { text, fields }
    // Describes it again as a subquery, which must be valid too.
    const expressions = fields.map((_field, index) => `c${index + 1}`)
    await this.#describeFields(buildQuery(query, expressions))
    const columns = fields.map((field, index) => ({
      label: field.name || `column ${index + 1}`,
      ...sqlServerColumnType(field),
    }))
    return {
      columns,
      notes: [],
      findLargest: (index, filter) => this.#findLargest(query, index, filter),
      read: (types, sink, filter) => this.#read(query, types, sink, filter),
    }
  }

  /**
   * Runs the operation without a savepoint. Describing a statement returns an error as a row, so it does not end the
   * transaction.
   */
  withSavepoint = <T>(operation: () => Promise<T>): Promise<T> => operation()

  async #findLargest(query: SqlServerQuery, index: number, filter: RowFilter): Promise<string | null> {
    const largestExpression = formatCursorText(`max(c${index + 1})`, query.fields[index]!)
    const request = new mssql.Request(this.#transaction)
    const text = buildQuery(query, [`${largestExpression} as largest`], filter)
    const { recordset } = await request.query<{ largest: string | null }>(text)
    return recordset[0]!.largest
  }

  async readClock(): Promise<SourceClock> {
    return this.#clock
  }

  async #read(
    query: SqlServerQuery,
    types: readonly StoredType[],
    sink: TupleSink,
    filter: RowFilter,
  ): Promise<ReadNote[]> {
    const labels = query.fields.map(({ name }, index) => name || `column ${index + 1}`)
    const columns = types.map((type, index) => ({ label: labels[index]!, ...type }))
    const encoder = new RowEncoder(columns, sink.buffer)
    const request = new mssql.Request(this.#transaction)
    this.#request = request
    request.stream = true
    request.arrayRowMode = true
    const readCompletion = Promise.withResolvers<void>()
    request.on('error', readCompletion.reject)
    request.on('done', () => readCompletion.resolve())
    request.on('row', (row: unknown[]) => {
      try {
        if (writeRow(encoder, sink, row)) return
        request.pause()
        void sink.waitForRoom().then(() => request.resume())
      } catch (error) {
        readCompletion.reject(error)
        this.#close()
      }
    })
    this.#byteLimit.readsRowByRow = true
    const expressions = query.fields.map((field, index) => readExpression(`c${index + 1}`, field))
    void Promise.resolve(request.query(buildQuery(query, expressions, filter))).catch(readCompletion.reject)
    await readCompletion.promise
    this.#byteLimit.readsRowByRow = false
    return []
  }

  /** Sends the protocol's attention signal, upon which the server ends the request. */
  async cancel(): Promise<void> {
    const request = this.#request
    if (!request) return
    const requestEnded = new Promise<void>((resolve) => {
      request.once('error', () => resolve())
      request.once('done', () => resolve())
    })
    request.resume()
    request.cancel()
    await Promise.race([requestEnded, sleep(1_500)])
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#close()
  }

  /** Makes the server describe a query without executing it. Throws the server's error for an invalid query. */
  async #describeFields(text: string): Promise<ServerField[]> {
    const request = new mssql.Request(this.#transaction)
    request.input('text', mssql.NVarChar(mssql.MAX), text)
    const { recordset } = await request.query<ServerField & { error_message: string | null; error_number: number }>(
      `select name, system_type_name, user_type_name, precision, scale, error_message, error_number
       from sys.dm_exec_describe_first_result_set(@text, null, 0)
       where is_hidden = 0 or error_number is not null order by column_ordinal`,
    )
    const errorField = recordset.find(({ error_message: message }) => message !== null)
    if (errorField)
      throw Object.assign(new Error(errorField.error_message!), { code: 'EREQUEST', number: errorField.error_number })
    return recordset
  }
}

/**
 * The driver creates a token parser for each message, after decryption. Its types do not declare this internal method.
 */
interface TediousMessageIo {
  createTokenStreamParser(message: AsyncIterable<Buffer>, handler: unknown): { parser: Readable }
}

/**
 * Limits the bytes from a server, and closes the connection above the limit. The driver keeps all parts of a value
 * until the last one without knowing the total length, and all rows, notices and errors of a response.
 */
class SqlServerByteLimit extends InboundByteLimit {
  /**
   * True if the session takes rows one by one. The limit then applies to each row, otherwise to the complete response.
   */
  readsRowByRow = false
  /** The problem because of which the connection was closed. */
  problem: SourceProblem | undefined
  #socket: Socket | undefined

  /**
   * Counts all bytes of the socket, TLS included, until login is complete. Call it before the driver receives the
   * socket.
   */
  watchSignIn(socket: Socket): void {
    this.#socket = socket
    let received = 0
    const count = (bytes: Buffer): void => {
      if (this.isSignedIn) {
        socket.off('data', count)
        return
      }
      received += bytes.length
      this.#closeOnProblem(this.findProblem(received))
    }
    // Adding a listener starts the stream. It is paused again, so that no data arrives before the driver listens too.
    socket.pause()
    socket.on('data', count)
  }

  /** Counts the decrypted bytes that the driver parses. */
  watch(driver: TediousMessageIo): void {
    const createParser = driver.createTokenStreamParser.bind(driver)
    driver.createTokenStreamParser = (message, handler) => {
      const response = { bytes: 0 }
      const reader = createParser(this.#countBytes(message, response), handler)
      reader.parser.on('data', ({ name }: { name: string }) => {
        const isRow = name === 'ROW' || name === 'NBCROW'
        if (this.readsRowByRow && isRow) response.bytes = 0
      })
      // Reports malformed data here, because the driver ignores tokens that it cannot parse.
      reader.parser.on('error', () => this.#closeOnProblem(this.createOtherProtocolProblem()))
      return reader
    }
  }

  /** Passes the bytes of a message on and counts them. Closes the connection above the limit. */
  async *#countBytes(message: AsyncIterable<Buffer>, response: { bytes: number }): AsyncGenerator<Buffer> {
    for await (const bytes of message) {
      response.bytes += bytes.length
      this.#closeOnProblem(this.findProblem(response.bytes))
      // Never resolves. If the stream ended here, the response would look complete; instead, the driver stops when the
      // socket fails.
      if (this.problem) await new Promise(() => {})
      yield bytes
    }
  }

  /** Closes the connection if there is a problem. The first problem is kept. */
  #closeOnProblem(problem: SourceProblem | undefined): void {
    if (!problem) return
    this.problem ??= problem
    this.#socket?.destroy(problem)
  }
}
