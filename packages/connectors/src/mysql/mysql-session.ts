import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { type Connection, type PrepareStatementInfo, createConnection } from 'mysql2'
import { SourceProblem, type StoredType } from '@sluice/row-stream'
import {
  type ReadNote,
  type SourceStatement,
  type SessionParameters,
  type DescribedColumn,
  type DatabaseEngine,
  StatementNotAllowedError,
  type DatabaseSession,
  buildStatement,
} from '../database-connector/session.ts'
import { openSocket } from '../database-connector/sockets.ts'
import type { TupleSink } from '../database-connector/tuple-sink.ts'
import { type MysqlField, toColumnType, needsTextConversion } from './columns.ts'
import { explainMysql } from './problems.ts'
import { RowReader } from './row-reader.ts'
import { FramedByteLimit } from '../database-connector/inbound-byte-limit.ts'
import type { DatabaseConfig } from '../database-connector/database-config.ts'

export const engine: DatabaseEngine = { name: 'MySQL', open, classifyError: explainMysql }

/** The server's limit for a paused reader: the reader pauses while the warehouse is busy. */
const serverTimeoutSeconds = 86_400

async function open(access: SessionParameters): Promise<DatabaseSession> {
  const socket = await openSocket(access)
  const connection = connectionOver(socket, access)
  const session = new MysqlSession(connection, socket, watched(connection, access), access)
  using _greeting = limitGreeting(socket, access)
  try {
    await session.begin()
  } catch (error) {
    socket.destroy()
    throw error
  }
  return session
}

function connectionOver(socket: Socket, { config, limits }: SessionParameters): Connection {
  const { host, port, database, username, password, ssl, trustServerCertificate } = config
  return createConnection({
    stream: socket,
    host,
    port,
    database,
    user: username,
    password,
    ...(ssl && { ssl: { rejectUnauthorized: !trustServerCertificate, verifyIdentity: !trustServerCertificate } }),
    charset: 'utf8mb4',
    multipleStatements: false,
    // A server may request any file from any client.
    flags: ['-LOCAL_FILES'],
    connectTimeout: limits.signIn,
  })
}

/** Limits the wait for the greeting. MySQL speaks first; if another protocol listens at the port, both sides would wait for each other. */
function limitGreeting(socket: Socket, { config: { host, port }, limits }: SessionParameters): Disposable {
  const timer = setTimeout(() => {
    if (socket.bytesRead > 0) return
    const message = `${host}, port ${port} accepts connections but sends no greeting, as MySQL and MariaDB do. Check the type and the port.`
    socket.destroy(new SourceProblem('CONNECTION_TIMEOUT', message))
  }, limits.greeting)
  return { [Symbol.dispose]: () => clearTimeout(timer) }
}

/** Counts received bytes, after decryption if the connection uses TLS. */
function watched(connection: Connection, { config }: SessionParameters): MysqlByteLimit {
  const byteLimit = new MysqlByteLimit(config)
  const inside = connection as unknown as DriverInternals
  byteLimit.watch(inside.stream)
  const startTLS = inside.startTLS.bind(connection)
  inside.startTLS = (secured) => {
    startTLS(secured)
    byteLimit.watch(inside.stream)
  }
  connection.once('connect', () => {
    byteLimit.isSignedIn = true
    byteLimit.startResponse()
  })
  return byteLimit
}

/** Driver internals that its types do not declare: the stream that it listens to, which is replaced when TLS begins. */
interface DriverInternals {
  stream: Duplex
  startTLS(secured: (error?: Error) => void): void
}

type PreparedStatement = PrepareStatementInfo & { columns: MysqlField[] }

/** A driver internal that its types do not declare: an execution provides the class of the object that receives each row's packet. */
interface StatementExecution {
  buildParserFromFields: (fields: MysqlField[]) => new () => { next(packet: PacketHeader): void }
  on(event: 'error' | 'end', heard: (error: Error) => void): void
}

interface PacketHeader {
  buffer: Buffer
  offset: number
  end: number
}

class MysqlSession implements DatabaseSession {
  readonly notes: ReadNote[] = []
  readonly #connection: Connection
  readonly #socket: Socket
  readonly #byteLimit: MysqlByteLimit
  readonly #access: SessionParameters
  #prepared: PreparedStatement | undefined
  #labels: string[] = []
  /** Rejects the pending operation when the connection breaks. */
  #broken: (error: Error) => void = () => {}

  constructor(connection: Connection, socket: Socket, byteLimit: MysqlByteLimit, access: SessionParameters) {
    this.#access = access
    this.#byteLimit = byteLimit
    this.#connection = connection
    this.#socket = socket
    connection.on('error', (error) => this.#broken(error))
  }

  received = (): number => this.#socket.bytesRead

  async begin(): Promise<void> {
    const [[version]] = [await this.#query<{ version: string }>('select version() as version')]
    const limit = /mariadb/i.test(version?.version ?? '') ? 'max_statement_time' : 'max_execution_time'
    await this.#query(
      `set session time_zone = '+00:00', net_write_timeout = ${serverTimeoutSeconds}, wait_timeout = ${serverTimeoutSeconds}`,
    )
    // Not every server that speaks this protocol has this setting.
    await this.#query(`set session ${limit} = 0`).catch(() => {})
    await this.#query('set session transaction isolation level repeatable read')
    await this.#query('start transaction with consistent snapshot, read only')
  }

  async describe(statement: SourceStatement): Promise<{ columns: DescribedColumn[]; notes: ReadNote[] }> {
    const text = buildStatement(statement, backticked)
    assertQuery(text)
    let prepared = await this.#prepare(text)
    if (prepared.columns.length === 0) throw new StatementNotAllowedError()
    if ('query' in statement) await this.#assertNoTarget(text)
    const notes: ReadNote[] = []
    const fields = prepared.columns
    if (fields.some(needsTextConversion)) {
      if ('name' in statement) prepared = await this.#prepare(withTexts(statement, fields))
      else notes.push(geometryNote(fields))
    }
    this.#prepared = prepared
    this.#labels = fields.map(({ name }) => name)
    const columns = prepared.columns.map((field, index): DescribedColumn => {
      const column = { label: this.#labels[index]!, ...toColumnType(field) }
      if (needsTextConversion(fields[index]!)) return { ...column, dataType: 'name' in statement ? 'GEOMETRY' : 'TEXT' }
      return 'name' in statement && isKey(field) ? { ...column, primaryKey: true } : column
    })
    return { columns, notes }
  }

  /**
   * Refuses a query that writes INTO a file or a variable, which may occur anywhere in the text. The server does not allow
   * INTO inside brackets, so wrapping the query lets the server report it; duplicate names are found later.
   */
  async #assertNoTarget(text: string): Promise<void> {
    if (!/into/i.test(text)) return
    try {
      const bracketed = await this.#prepare(`select 1 from (\n${text}\n) as source`)
      bracketed.close()
    } catch (error) {
      const { code, errno } = error as { code?: string; errno?: number }
      if (code === 'ER_DUP_FIELDNAME') return
      throw errno !== undefined && code?.startsWith('ER_') ? new StatementNotAllowedError() : error
    }
  }

  async read(types: readonly StoredType[], sink: TupleSink): Promise<ReadNote[]> {
    const prepared = this.#prepared!
    const reading = Promise.withResolvers<void>()
    this.#byteLimit.startResponse()
    this.#broken = reading.reject
    const execution = prepared.execute([], undefined as never) as unknown as StatementExecution | undefined
    // A connection that was lost in the meantime accepts no commands and has already reported the loss.
    if (!execution) return await reading.promise.then(() => [])
    execution.on('error', reading.reject)
    execution.on('end', () => reading.resolve())
    let zeroDates = (): ReadNote[] => []
    execution.buildParserFromFields = (fields) => {
      this.#byteLimit.startRows()
      const rows = new RowReader(fields, this.#labels, types, sink)
      zeroDates = () => rows.notes()
      const goOn = () => this.#connection.resume()
      const fail = (error: unknown) => {
        reading.reject(error)
        this.#socket.destroy()
      }
      const pause = () => {
        this.#connection.pause()
        void sink.waitForRoom().then(goOn)
      }
      return class {
        next({ buffer, offset, end }: PacketHeader): void {
          try {
            if (!rows.take(buffer, offset, end)) pause()
          } catch (error) {
            fail(error)
          }
        }
      }
    }
    await reading.promise
    return zeroDates()
  }

  /** Cancels the query through another connection of the same login, which may end its own queries. */
  async cancel(): Promise<void> {
    const { threadId } = this.#connection
    const socket = await openSocket(this.#access)
    const other = connectionOver(socket, this.#access)
    try {
      await new Promise<void>((resolve, reject) => {
        other.on('error', reject)
        other.query(`kill query ${threadId}`, (error) => (error ? reject(error) : resolve()))
      })
    } finally {
      socket.destroy()
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#socket.destroy()
  }

  #query<Row>(sql: string): Promise<Row[]> {
    this.#byteLimit.startResponse()
    return new Promise((resolve, reject) => {
      this.#broken = reject
      this.#connection.query(sql, (error, rows) => (error ? reject(error) : resolve(rows as Row[])))
    })
  }

  #prepare(sql: string): Promise<PreparedStatement> {
    this.#byteLimit.startResponse()
    return new Promise((resolve, reject) => {
      this.#broken = reject
      this.#connection.prepare(sql, (error, prepared) =>
        error ? reject(error) : resolve(prepared as PreparedStatement),
      )
    })
  }
}

const isKey = ({ flags }: MysqlField): boolean => ((flags as unknown as number) & 2) !== 0

/** Returns the query of a table with its geometry as text. */
function withTexts(statement: Extract<SourceStatement, { name: string }>, fields: readonly MysqlField[]): string {
  const columns = fields.map((field) =>
    needsTextConversion(field) ? `st_astext(${backticked(field.name)}) as ${backticked(field.name)}` : backticked(field.name),
  )
  return buildStatement(statement, backticked, columns.join(', '))
}

function geometryNote(fields: readonly MysqlField[]): ReadNote {
  const names = fields.filter(needsTextConversion).map(({ name }) => name)
  return {
    level: 'WARN',
    message: `Geometry in ${names.join(', ')} is kept as the bytes that the database holds, in hexadecimal digits. Use ST_AsText in the query to have it as text.`,
  }
}

const headerBytes = 4
/** A packet of this length continues in the next packet. */
const longestPacket = 0xff_ff_ff

/** Reads packet headers: three bytes of length and one of sequence number, https://mariadb.com/kb/en/0-packet/. */
class MysqlByteLimit extends FramedByteLimit {
  #continues = false
  #isKept = true

  constructor(config: DatabaseConfig) {
    super(headerBytes, config, 'MySQL')
  }

  /** Marks a request: the driver keeps all of the response. */
  startResponse(): void {
    this.#isKept = true
    this.responseBytes = 0
  }

  /** Marks the start of rows, which are taken one by one. */
  startRows(): void {
    this.#isKept = false
    this.responseBytes = 0
  }

  protected override recordHeader(header: Buffer): number {
    const length = header.readUIntLE(0, 3)
    this.messageBytes = (this.#continues ? this.messageBytes : 0) + length
    this.#continues = length === longestPacket
    if (this.#isKept) this.responseBytes += length + headerBytes
    return length
  }
}

const backticked = (name: string): string => `\`${name.replaceAll('`', '``')}\``

/**
 * Throws `StatementNotAllowed` unless the statement begins like a query. The protocol allows only one statement, and the
 * read-only transaction prevents changes. This check refuses statements that end a transaction, and statements about the
 * server instead of its tables.
 */
function assertQuery(text: string): void {
  const start = text.replace(/^(?:\s+|--[ \t][^\n]*(?:\n|$)|--\n|#[^\n]*(?:\n|$)|\/\*(?![!+M])[^]*?\*\/|\()+/, '')
  if (!/^(select|with|values|table)\b/i.test(start)) throw new StatementNotAllowedError()
}
