import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import mssql from 'mssql'
import { RowEncoder, type StoredType } from '@sluice/row-stream'
import type { ReadingNote, SourceStatement } from '../database-connector/protocol.ts'
import {
  type SessionAccess,
  type DescribedColumn,
  type DatabaseEngine,
  StatementNotAllowed,
  type DatabaseSession,
  statementText,
} from '../database-connector/session.ts'
import { openSocket } from '../database-connector/sockets.ts'
import { type TupleSink, writeRow } from '../database-connector/tuple-sink.ts'
import { SqlServerInboundByteLimit } from './inbound-byte-limit.ts'
import { type ServerField, bracketed, columnOf, assertQuery, embedded, readExpression } from './columns.ts'
import { encryptedOnly } from '@sluice/database'
import { explainSqlServer } from './problems.ts'

export const engine: DatabaseEngine = { name: 'SQL Server', open, explain: explainSqlServer }

/** Bytes of a protocol packet: four times the driver's default, below the maximum of one TLS record. */
const packetSize = 16_000

async function open(access: SessionAccess): Promise<DatabaseSession> {
  const { host, port, database, username, password, ssl, trustServerCertificate } = access.config
  const sockets: Socket[] = []
  const arrivals = new SqlServerInboundByteLimit(access.config)
  const pool = new mssql.ConnectionPool({
    server: host,
    port,
    database,
    user: username,
    password,
    connectionTimeout: access.limits.signIn,
    requestTimeout: 0,
    pool: { min: 0, max: 1 },
    // One reader uses the connection, so its state is known.
    validateConnection: false,
    beforeConnect: (driver) => arrivals.watch(driver as never),
    options: {
      encrypt: ssl,
      trustServerCertificate,
      useUTC: true,
      packetSize,
      appName: 'sluice',
      // If a server redirects its clients, the driver still connects to the checked address.
      connector: async () => {
        // Without this error, the pool would retry with another connection.
        if (arrivals.problem) throw arrivals.problem
        const socket = await openSocket(access)
        sockets.push(socket)
        arrivals.door(socket)
        return ssl ? encryptedOnly(socket) : socket
      },
    },
  })
  pool.on('error', () => {})
  const close = () => {
    for (const socket of sockets) socket.destroy()
  }
  try {
    await pool.connect()
    arrivals.signedIn = true
    const transaction = new mssql.Transaction(pool)
    transaction.on('error', () => {})
    const inOneMoment = await hasSnapshots(pool)
    await transaction.begin(inOneMoment ? mssql.ISOLATION_LEVEL.SNAPSHOT : mssql.ISOLATION_LEVEL.READ_COMMITTED)
    const received = () => sockets.reduce((sum, { bytesRead }) => sum + bytesRead, 0)
    return new SqlServerSession(transaction, arrivals, received, close)
  } catch (error) {
    close()
    throw error
  }
}

async function hasSnapshots(pool: mssql.ConnectionPool): Promise<boolean> {
  const { recordset } = await pool
    .request()
    .query<{ state: number }>('select snapshot_isolation_state as state from sys.databases where database_id = db_id()')
  return recordset[0]?.state === 1
}

/** Reads in a transaction that is never committed: the server rolls it back when the connection ends. */
class SqlServerSession implements DatabaseSession {
  readonly notes: ReadingNote[] = []
  readonly received: () => number
  readonly #transaction: mssql.Transaction
  readonly #arrivals: SqlServerInboundByteLimit
  readonly #close: () => void
  #text = ''
  #fields: ServerField[] = []
  #request: mssql.Request | undefined

  constructor(
    transaction: mssql.Transaction,
    arrivals: SqlServerInboundByteLimit,
    received: () => number,
    close: () => void,
  ) {
    this.#transaction = transaction
    this.#arrivals = arrivals
    this.received = received
    this.#close = close
  }

  async describe(statement: SourceStatement): Promise<{ columns: DescribedColumn[]; notes: ReadingNote[] }> {
    this.#text = statementText(statement, bracketed)
    assertQuery(this.#text)
    // The query is described alone first: only a query that is complete by itself may be embedded in another one.
    this.#fields = await this.#fieldsOf(this.#text)
    if (this.#fields.length === 0) throw new StatementNotAllowed()
    await this.#fieldsOf(this.#wrapped(this.#fields.map((_field, index) => `c${index + 1}`)))
    const columns = this.#fields.map((field, index) => ({
      label: field.name || `column ${index + 1}`,
      ...columnOf(field),
    }))
    return { columns, notes: [] }
  }

  async read(types: readonly StoredType[], sink: TupleSink): Promise<ReadingNote[]> {
    const labels = this.#fields.map(({ name }, index) => name || `column ${index + 1}`)
    const encoder = new RowEncoder(
      types.map((type, index) => ({ label: labels[index]!, ...type })),
      sink.buffer,
    )
    const request = new mssql.Request(this.#transaction)
    this.#request = request
    request.stream = true
    request.arrayRowMode = true
    const reading = Promise.withResolvers<void>()
    request.on('error', reading.reject)
    request.on('done', () => reading.resolve())
    request.on('row', (row: unknown[]) => {
      try {
        if (writeRow(encoder, sink, row)) return
        request.pause()
        void sink.drained().then(() => request.resume())
      } catch (error) {
        reading.reject(error)
        this.#close()
      }
    })
    this.#arrivals.feeding = true
    const query = this.#wrapped(this.#fields.map((field, index) => readExpression(`c${index + 1}`, field)))
    void Promise.resolve(request.query(query)).catch(reading.reject)
    await reading.promise
    this.#arrivals.feeding = false
    return []
  }

  /** Sends the protocol's attention signal; the server then ends the request. */
  async cancel(): Promise<void> {
    const request = this.#request
    if (!request) return
    const ended = new Promise<void>((resolve) => {
      request.once('error', () => resolve())
      request.once('done', () => resolve())
    })
    request.resume()
    request.cancel()
    await Promise.race([ended, sleep(1_500)])
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#close()
  }

  #wrapped(expressions: readonly string[]): string {
    return embedded(this.#text, expressions, this.#fields.length)
  }

  async #fieldsOf(text: string): Promise<ServerField[]> {
    const request = new mssql.Request(this.#transaction)
    request.input('text', mssql.NVarChar(mssql.MAX), text)
    const { recordset } = await request.query<ServerField & { error_message: string | null; error_number: number }>(
      `select name, system_type_name, user_type_name, precision, scale, error_message, error_number
       from sys.dm_exec_describe_first_result_set(@text, null, 0)
       where is_hidden = 0 or error_number is not null order by column_ordinal`,
    )
    const refused = recordset.find(({ error_message: message }) => message !== null)
    if (refused)
      throw Object.assign(new Error(refused.error_message!), { code: 'EREQUEST', number: refused.error_number })
    return recordset
  }
}
