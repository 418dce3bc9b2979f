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
  type DescribedStatement,
  assertHasColumns,
  buildStatement,
} from '../database-connector/database-session.ts'
import { openSocket } from '../database-connector/open-socket.ts'
import type { TupleSink } from '../database-connector/tuple-sink.ts'
import { isPrimaryKey, type MysqlField, mysqlColumnType, needsTextConversion } from './column-types.ts'
import { classifyMysqlError } from './classify-mysql-error.ts'
import type { SourceClock } from '../database-connector/increments/cursor-value.ts'
import {
  buildWhere,
  removeTrailingZeros,
  type FilterSyntax,
  formatNumber,
  type RowFilter,
} from '../database-connector/increments/row-filter.ts'
import { RowReader } from './row-reader.ts'
import { FramedByteLimit } from '../database-connector/inbound-byte-limit.ts'
import type { DatabaseConfig, DatabaseTable } from '../database-connector/database-config.ts'

export const engine: DatabaseEngine = { name: 'MySQL', open: openMysqlSession, classifyError: classifyMysqlError }

/**
 * The server's time limit for a client that does not read. It is a day, because this client pauses while the warehouse
 * is busy.
 */
const serverTimeoutSeconds = 86_400

/** Connects, signs in and starts the transaction. The socket is closed when it throws. */
async function openMysqlSession(parameters: SessionParameters): Promise<DatabaseSession> {
  const socket = await openSocket(parameters)
  const connection = createSocketConnection(socket, parameters)
  const session = new MysqlSession(connection, socket, attachByteLimit(connection, parameters), parameters)
  using _greetingTimeout = limitGreeting(socket, parameters)
  try {
    await session.begin()
  } catch (error) {
    socket.destroy()
    throw error
  }
  return session
}

/** Returns a connection of the driver that uses this socket. It has not signed in yet. */
function createSocketConnection(socket: Socket, { config, limits }: SessionParameters): Connection {
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
    // Rejects requests for local files, because a malicious server could request any file.
    flags: ['-LOCAL_FILES'],
    connectTimeout: limits.signIn,
  })
}

/**
 * Limits the wait for the greeting, which a MySQL server sends first. A server with another protocol would wait for the
 * client, so both would wait forever.
 */
function limitGreeting(socket: Socket, { config: { host, port }, limits }: SessionParameters): Disposable {
  const timer = setTimeout(() => {
    if (socket.bytesRead > 0) return
    const message = `${host}, port ${port} accepts connections but sends no greeting, so it is not MySQL or MariaDB. Check the type and the port.`
    socket.destroy(new SourceProblem('CONNECTION_TIMEOUT', message))
  }, limits.greeting)
  return { [Symbol.dispose]: () => clearTimeout(timer) }
}

/** Limits the bytes that the server sends, also after the driver has replaced the stream by an encrypted one. */
function attachByteLimit(connection: Connection, { config }: SessionParameters): MysqlByteLimit {
  const byteLimit = new MysqlByteLimit(config)
  const driverInternals = connection as unknown as DriverInternals
  byteLimit.watch(driverInternals.stream)
  const startTLS = driverInternals.startTLS.bind(connection)
  driverInternals.startTLS = (onSecured) => {
    startTLS(onSecured)
    // `stream` is now the encrypted one.
    byteLimit.watch(driverInternals.stream)
  }
  connection.once('connect', () => {
    byteLimit.isSignedIn = true
    byteLimit.startResponse()
  })
  return byteLimit
}

/** The stream to which the driver listens. TLS replaces it with another one. The driver's types do not declare it. */
interface DriverInternals {
  stream: Duplex
  startTLS(onSecured: (error?: Error) => void): void
}

type PreparedStatement = PrepareStatementInfo & { columns: MysqlField[] }

/** A prepared execution creates the parser that receives the row packets. The driver's types do not declare it. */
interface StatementExecution {
  buildParserFromFields: (fields: MysqlField[]) => new () => { next(packet: PacketHeader): void }
  on(event: 'error' | 'end', listener: (error: Error) => void): void
}

interface PacketHeader {
  buffer: Buffer
  offset: number
  end: number
}

/** A described query: either for a table, to which a condition can be appended, or a user's query. */
interface MysqlQuery {
  text: string
  isTable: boolean
  labels: readonly string[]
  prepared: PreparedStatement
}

class MysqlSession implements DatabaseSession {
  readonly notes: ReadNote[] = []
  readonly #connection: Connection
  readonly #socket: Socket
  readonly #byteLimit: MysqlByteLimit
  readonly #parameters: SessionParameters
  #clock: SourceClock = { utc: '', local: '' }
  /** Rejects the pending operation when the connection is lost. */
  #rejectPending: (error: Error) => void = () => {}

  constructor(connection: Connection, socket: Socket, byteLimit: MysqlByteLimit, parameters: SessionParameters) {
    this.#parameters = parameters
    this.#byteLimit = byteLimit
    this.#connection = connection
    this.#socket = socket
    connection.on('error', (error) => this.#rejectPending(error))
  }

  received = (): number => this.#socket.bytesRead

  /** Starts a read-only transaction with a snapshot. */
  async begin(): Promise<void> {
    // Reads the clock before the snapshot, and before this session changes its time zone.
    const [server] = await this.#query<{ version: string } & SourceClock>(
      'select version() as version, cast(utc_timestamp(6) as char) as utc, cast(now(6) as char) as local',
    )
    const { version = '', utc = '', local = '' } = server ?? {}
    this.#clock = { utc, local }
    const isMariaDb = /mariadb/i.test(version)
    const timeoutSetting = isMariaDb ? 'max_statement_time' : 'max_execution_time'
    await this.#query(
      `set session time_zone = '+00:00', net_write_timeout = ${serverTimeoutSeconds}, wait_timeout = ${serverTimeoutSeconds}`,
    )
    // Ignores errors, because not every server with this protocol has the setting.
    await this.#query(`set session ${timeoutSetting} = 0`).catch(() => {})
    await this.#query('set session transaction isolation level repeatable read')
    await this.#query('start transaction with consistent snapshot, read only')
    const { tables = [] } = this.#parameters.config
    if (tables.length > 1) await this.#addSnapshotNote(tables)
  }

  /** Adds a note that names the tables with a storage engine that does not support snapshots. */
  async #addSnapshotNote(tables: readonly DatabaseTable[]): Promise<void> {
    const escape = (name: string) => this.#connection.escape(name)
    const tableLiterals = tables.map(
      ({ schema, name }) => `(${schema ? escape(schema) : 'database()'}, ${escape(name)})`,
    )
    const rows = await this.#query<{ name: string; engine: string }>(
      `select concat(table_schema, '.', table_name) as name, engine as engine from information_schema.tables
       where engine <> 'InnoDB' and (table_schema, table_name) in (${tableLiterals.join(', ')})`,
    )
    if (rows.length === 0) return
    const list = rows.map(({ name, engine }) => `${name} (${engine})`).join(', ')
    this.notes.push({
      level: 'WARN',
      message: `These tables are not read at the same moment as the others, because their storage engine has no snapshots: ${list}. Convert them to InnoDB.`,
    })
  }

  async describe(statement: SourceStatement): Promise<DescribedStatement> {
    const isTable = 'name' in statement
    let text = buildStatement(statement, quoteName)
    assertQuery(text)
    let preparedStatement = await this.#prepare(text)
    assertHasColumns(preparedStatement.columns, statement)
    if (!isTable) await this.#assertNoIntoClause(text)
    const notes: ReadNote[] = []
    const fields = preparedStatement.columns
    if (fields.some(needsTextConversion)) {
      if (isTable) {
        text = buildTableQuery(statement, fields)
        preparedStatement = await this.#prepare(text)
      } else notes.push(createGeometryNote(fields))
    }
    const labels = fields.map(({ name }) => name)
    const columns = preparedStatement.columns.map((field, index): DescribedColumn => {
      const column = { label: labels[index]!, ...mysqlColumnType(field) }
      if (needsTextConversion(fields[index]!)) return { ...column, dataType: isTable ? 'GEOMETRY' : 'TEXT' }
      return isTable && isPrimaryKey(field) ? { ...column, primaryKey: true } : column
    })
    const query = { text, isTable, labels, prepared: preparedStatement }
    return {
      columns,
      notes,
      findLargest: (index, filter) => this.#findLargest(query, index, filter),
      read: (types, sink, filter) => this.#read(query, types, sink, filter),
    }
  }

  /** Runs the operation without a savepoint, because in MySQL an error of a statement does not end the transaction. */
  withSavepoint = <T>(operation: () => Promise<T>): Promise<T> => operation()

  /**
   * Throws if the query contains INTO, which writes to a file or a variable and can occur anywhere in a query.
   * Describes the query as a subquery, in which the server rejects INTO. Duplicate column names are detected later.
   */
  async #assertNoIntoClause(text: string): Promise<void> {
    if (!/into/i.test(text)) return
    try {
      const wrappedStatement = await this.#prepare(`select 1 from (\n${text}\n) as source`)
      wrappedStatement.close()
    } catch (error) {
      const { code, errno } = error as { code?: string; errno?: number }
      if (code === 'ER_DUP_FIELDNAME') return
      const isRejected = errno !== undefined && code?.startsWith('ER_')
      throw isRejected ? new StatementNotAllowedError() : error
    }
  }

  async #findLargest({ text, labels }: MysqlQuery, index: number, filter: RowFilter): Promise<string | null> {
    const largestExpression = `cast(max(${quoteName(labels[index]!)}) as char) as largest`
    const [row] = await this.#query<{ largest: string | null }>(
      `select ${largestExpression} from (\n${text}\n) as source${buildWhere(filter, createFilterSyntax(labels))}`,
    )
    return row!.largest
  }

  async readClock(): Promise<SourceClock> {
    return this.#clock
  }

  /**
   * Prepares the statement with a condition. For a table, the condition is appended directly; old servers would write a
   * derived table to disk first.
   */
  #prepareFiltered({ text, isTable }: MysqlQuery, whereClause: string): Promise<PreparedStatement> {
    return this.#prepare(isTable ? text + whereClause : `select * from (\n${text}\n) as source${whereClause}`)
  }

  async #read(
    query: MysqlQuery,
    types: readonly StoredType[],
    sink: TupleSink,
    filter: RowFilter,
  ): Promise<ReadNote[]> {
    const { labels } = query
    const whereClause = buildWhere(filter, createFilterSyntax(labels))
    const preparedStatement = whereClause === '' ? query.prepared : await this.#prepareFiltered(query, whereClause)
    const readCompletion = Promise.withResolvers<void>()
    this.#byteLimit.startResponse()
    this.#rejectPending = readCompletion.reject
    const execution = preparedStatement.execute([], undefined as never) as unknown as StatementExecution | undefined
    // A lost connection runs no commands. Its loss has already been reported.
    if (!execution) return await readCompletion.promise.then(() => [])
    execution.on('error', readCompletion.reject)
    execution.on('end', () => readCompletion.resolve())
    let listNotes = (): ReadNote[] => []
    const fail = (error: unknown) => {
      readCompletion.reject(error)
      this.#socket.destroy()
    }
    execution.buildParserFromFields = (fields) => {
      this.#byteLimit.startRows()
      const hasSameColumns =
        fields.length === labels.length && fields.every(({ name }, index) => name === labels[index])
      if (!hasSameColumns) {
        fail(new SourceProblem('STATEMENT_FAILED', columnsChanged))
        return class {
          next(): void {}
        }
      }
      const rowReader = new RowReader(fields, labels, types, sink)
      listNotes = () => rowReader.listNotes()
      const pauseUntilRoom = () => {
        this.#connection.pause()
        void sink.waitForRoom().then(() => this.#connection.resume())
      }
      return class {
        next({ buffer, offset, end }: PacketHeader): void {
          try {
            if (!rowReader.readRow(buffer, offset, end)) pauseUntilRoom()
          } catch (error) {
            fail(error)
          }
        }
      }
    }
    await readCompletion.promise
    return listNotes()
  }

  /** Cancels the query through a second connection of the same login, which MySQL permits. */
  async cancel(): Promise<void> {
    const { threadId } = this.#connection
    const socket = await openSocket(this.#parameters)
    const cancelConnection = createSocketConnection(socket, this.#parameters)
    try {
      await new Promise<void>((resolve, reject) => {
        cancelConnection.on('error', reject)
        cancelConnection.query(`kill query ${threadId}`, (error) => (error ? reject(error) : resolve()))
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
      this.#rejectPending = reject
      this.#connection.query(sql, (error, rows) => (error ? reject(error) : resolve(rows as Row[])))
    })
  }

  #prepare(sql: string): Promise<PreparedStatement> {
    this.#byteLimit.startResponse()
    return new Promise((resolve, reject) => {
      this.#rejectPending = reject
      this.#connection.prepare(sql, (error, prepared) =>
        error ? reject(error) : resolve(prepared as PreparedStatement),
      )
    })
  }
}

/** Returns the syntax of conditions on the columns with these labels. */
const createFilterSyntax = (labels: readonly string[]): FilterSyntax => ({
  column: (index) => quoteName(labels[index]!),
  literal(value, kind) {
    if (kind === 'NUMBER') return formatNumber(value)
    const type = kind === 'DATE' ? 'date' : 'datetime(6)'
    return `cast('${removeTrailingZeros(value)}' as ${type})`
  },
  falseLiteral: '0',
  // Dates with a zero year, month or day become NULL in the warehouse, so they count as absent.
  isAbsentDate: (column) =>
    `(${column} is null or year(${column}) = 0 or month(${column}) = 0 or dayofmonth(${column}) = 0)`,
})

/** Returns the query for a table, which selects its columns and converts geometry to text. */
function buildTableQuery(statement: Extract<SourceStatement, { name: string }>, fields: readonly MysqlField[]): string {
  const columns = fields.map((field) => {
    const name = quoteName(field.name)
    return needsTextConversion(field) ? `st_astext(${name}) as ${name}` : name
  })
  return buildStatement(statement, quoteName, columns.join(', '))
}

function createGeometryNote(fields: readonly MysqlField[]): ReadNote {
  const names = fields.filter(needsTextConversion).map(({ name }) => name)
  return {
    level: 'WARN',
    message: `Geometry in ${names.join(', ')} is stored as hexadecimal digits of its binary format. Use ST_AsText in the query to store it as text.`,
  }
}

const columnsChanged = 'The columns of the table were changed while the run was reading. The old data stays; run again.'

const headerBytes = 4
/** A packet of this length continues in the next packet. */
const maxPacketLength = 0xff_ff_ff

/**
 * Parses packet headers: three bytes of length and one byte of sequence number. See
 * https://mariadb.com/kb/en/0-packet/.
 */
class MysqlByteLimit extends FramedByteLimit {
  #isContinued = false
  #isKeptInMemory = true

  constructor(config: DatabaseConfig) {
    super(headerBytes, config, 'MySQL')
  }

  /** Starts counting a response that the driver keeps in memory completely. */
  startResponse(): void {
    this.#isKeptInMemory = true
    this.responseBytes = 0
  }

  /** Counts each row separately from now on, because rows are taken one by one. */
  startRows(): void {
    this.#isKeptInMemory = false
    this.responseBytes = 0
  }

  protected override recordHeader(header: Buffer): number {
    const length = header.readUIntLE(0, 3)
    this.messageBytes = (this.#isContinued ? this.messageBytes : 0) + length
    this.#isContinued = length === maxPacketLength
    if (this.#isKeptInMemory) this.responseBytes += length + headerBytes
    return length
  }
}

const quoteName = (name: string): string => `\`${name.replaceAll('`', '``')}\``

/**
 * Throws `StatementNotAllowedError` unless the statement starts like a query. The protocol allows only one statement,
 * and the read-only transaction prevents changes. This check additionally rejects statements that end a transaction or
 * that query the server instead of tables.
 */
function assertQuery(text: string): void {
  const start = text.replace(/^(?:\s+|--[ \t][^\n]*(?:\n|$)|--\n|#[^\n]*(?:\n|$)|\/\*(?![!+M])[^]*?\*\/|\()+/, '')
  if (!/^(select|with|values|table)\b/i.test(start)) throw new StatementNotAllowedError()
}
