import oracledb from 'oracledb'
import { RowEncoder, type SourceProblem, type StoredType } from '@sluice/row-stream'
import type { DatabaseConfig, DatabaseLimits } from '../database-connector/database-config.ts'
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
import { type TupleSink, writeRow } from '../database-connector/tuple-sink.ts'
import { InboundByteLimit, maxMessageBytes } from '../database-connector/inbound-byte-limit.ts'
import { type OracleField, columnOf, convertValue, fetchAs } from './columns.ts'
import { explainOracle, UnsupportedName } from './problems.ts'
import dns from 'node:dns'
import net from 'node:net'

export const engine: DatabaseEngine = { name: 'Oracle', open, classifyError: explainOracle }

/**
 * Dates are fetched as text: the driver's own dates lose digits finer than a millisecond. The year has a sign because
 * years before 1 exist.
 */
const sessionSettings = `alter session set nls_date_format = 'SYYYY-MM-DD"T"HH24:MI:SS' nls_timestamp_format = 'SYYYY-MM-DD"T"HH24:MI:SS.FF9'
  nls_timestamp_tz_format = 'SYYYY-MM-DD"T"HH24:MI:SS.FF9TZH:TZM' nls_numeric_characters = '.,' time_zone = 'UTC'`

async function open(access: SessionParameters): Promise<DatabaseSession> {
  const { config, limits } = access
  const connect = connectString(config, limits)
  pinNetwork(access)
  const byteLimit = new OracleByteLimit(access)
  const signIn = {
    user: config.username,
    password: config.password,
    connectString: connect,
    sslServerDNMatch: !config.trustServerCertificate,
  }
  const connection = await byteLimit.request(() => oracledb.getConnection(signIn))
  byteLimit.isSignedIn = true
  const session = new OracleSession(connection, byteLimit)
  if (config.ssl && config.trustServerCertificate)
    session.notes.push({
      level: 'WARN',
      message: 'Oracle’s driver always checks who signed the certificate; only its name is left unchecked.',
    })
  await byteLimit.request(() => connection.execute(sessionSettings))
  await byteLimit.request(() => connection.execute('set transaction read only'))
  return session
}

/** Returns the address of the database in the driver's own syntax. Brackets in a name would be part of that syntax. */
function connectString({ host, port, database, ssl }: DatabaseConfig, limits: DatabaseLimits): string {
  if (!/^[\w.:-]{1,255}$/.test(host)) throw new UnsupportedName('HOST_UNKNOWN')
  if (!/^[\w.$#-]{1,255}$/.test(database)) throw new UnsupportedName('DATABASE_MISSING')
  const seconds = Math.max(1, Math.ceil(limits.signIn / 1000))
  const address = `(address=(protocol=${ssl ? 'tcps' : 'tcp'})(host=${host})(port=${port}))`
  return `(description=(connect_timeout=${seconds})(transport_connect_timeout=${seconds})(expire_time=1)${address}(connect_data=(service_name=${database})))`
}

class OracleSession implements DatabaseSession {
  readonly notes: ReadNote[] = []
  readonly #connection: oracledb.Connection
  readonly #byteLimit: OracleByteLimit
  #text = ''
  #columns: OracleField[] = []
  #received = 0

  constructor(connection: oracledb.Connection, byteLimit: OracleByteLimit) {
    this.#connection = connection
    this.#byteLimit = byteLimit
  }

  received = (): number => this.#received

  async describe(statement: SourceStatement): Promise<{ columns: DescribedColumn[]; notes: ReadNote[] }> {
    this.#text = buildStatement(statement, quoted)
    const { metaData, statementType } = await this.#byteLimit.request(() =>
      this.#connection.getStatementInfo(this.#text),
    )
    if (statementType !== oracledb.STMT_TYPE_SELECT || !metaData?.length) throw new StatementNotAllowedError()
    this.#columns = metaData
    return { columns: metaData.map((column) => ({ label: column.name, ...columnOf(column) })), notes: [] }
  }

  async read(types: readonly StoredType[], sink: TupleSink): Promise<ReadNote[]> {
    const columns = types.map((type, index) => ({ label: this.#columns[index]!.name, ...type }))
    const encoder = new RowEncoder(columns, sink.buffer)
    const atOnce = rowsAtOnce(this.#columns)
    const options = {
      resultSet: true,
      outFormat: oracledb.OUT_FORMAT_ARRAY,
      fetchArraySize: atOnce,
      prefetchRows: atOnce,
      fetchTypeHandler: fetchAs,
    }
    const execute = () => this.#connection.execute<unknown[]>(this.#text, [], options)
    const { resultSet } = await this.#byteLimit.request(execute, maxRowsBytes)
    const rows = {
      getRows: (most: number) => this.#byteLimit.request(() => resultSet!.getRows(most), maxRowsBytes),
      close: () => resultSet!.close(),
    }
    // The driver does not expose its socket, so the received rows are counted instead of bytes.
    await readRows(rows, this.#columns, encoder, sink, (rows) => (this.#received += rows))
    return []
  }

  cancel(): Promise<void> {
    return this.#connection.break()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#byteLimit[Symbol.dispose]()
    await this.#connection.close({ drop: true }).catch(() => {})
  }
}

/** Quotes a name. Oracle cannot escape a quotation mark in a name, so no name contains one. */
const quoted = (name: string): string => `"${name.replaceAll('"', '')}"`

/**
 * Restricts the driver to the checked addresses. The driver accepts no socket, resolves names itself and follows redirects
 * of a listener. In this thread, which has its own copies of these modules and no other connections, the host therefore
 * resolves to the checked addresses only, other hosts do not resolve, and connections to other addresses fail.
 */
function pinNetwork({ addresses, config, openedSockets: opened }: SessionParameters): void {
  const admitted = new Set(addresses.map(({ address }) => address))
  const lookup = async (host: string) => {
    if (host.toLowerCase() !== config.host.toLowerCase()) throw elsewhere(host)
    return addresses.map(({ address, family }) => ({ address, family }))
  }
  const connect = net.connect as (port: number | string, host: string, done: () => void) => net.Socket
  const pinned = (port: number | string, host: string, done: () => void): net.Socket => {
    if (admitted.has(host) && Number(port) === config.port) {
      const socket = connect(port, host, done)
      opened.push(socket)
      return socket
    }
    const socket = new net.Socket()
    setImmediate(() => socket.destroy(elsewhere(host)))
    return socket
  }
  Object.assign(dns.promises, { lookup })
  Object.assign(net, { connect: pinned })
}

const elsewhere = (host: string): Error => new Error(`elsewhere: the database sends its clients to ${host}`)

/** Types whose values may be megabytes each. The driver holds all rows of one response at once, as objects. */
const large: ReadonlySet<unknown> = new Set([
  oracledb.DB_TYPE_CLOB,
  oracledb.DB_TYPE_NCLOB,
  oracledb.DB_TYPE_BLOB,
  oracledb.DB_TYPE_LONG,
  oracledb.DB_TYPE_LONG_NVARCHAR,
  oracledb.DB_TYPE_LONG_RAW,
  oracledb.DB_TYPE_JSON,
  oracledb.DB_TYPE_VECTOR,
  oracledb.DB_TYPE_XMLTYPE,
])

/** Returns the number of rows per response, which the driver holds as objects at the same time. */
export function rowsAtOnce(fields: readonly Pick<OracleField, 'dbType'>[]): number {
  return fields.some(({ dbType }) => large.has(dbType)) ? 16 : 1000
}

/** The rows of a query, as the driver returns them. */
export interface OracleRows {
  getRows(atOnce: number): Promise<unknown[][]>
  close(): Promise<void>
}

/** Writes all rows and closes the result set. `count` receives the number of rows in each response. */
export async function readRows(
  rows: OracleRows,
  fields: readonly OracleField[],
  encoder: RowEncoder,
  sink: TupleSink,
  count: (rows: number) => void,
): Promise<void> {
  const atOnce = rowsAtOnce(fields)
  const converts = fields.map(convertValue)
  try {
    for (;;) {
      const some = await rows.getRows(atOnce)
      if (some.length === 0) return
      count(some.length)
      for (const row of some) {
        for (const [index, convert] of converts.entries()) if (convert) row[index] = convert(row[index])
        if (!writeRow(encoder, sink, row)) await sink.waitForRoom()
      }
    }
  } finally {
    // The error that ended the reading is reported; the failed close of a broken connection is not.
    await rows.close().catch(() => {})
  }
}

/** Milliseconds between checks. The excess is limited to the bytes that the network carries in that time. */
const checkIntervalMs = 20
/** Maximum bytes of one response with rows, which may be sixteen rows of megabytes each. */
const maxRowsBytes = 4 * maxMessageBytes

/**
 * Counts the bytes received since the last request, and breaks the connection above the limit: the driver queues
 * everything that arrives, requested or not. The driver neither accepts nor exposes a socket, so this class uses the byte
 * counts of the sockets, TLS included.
 */
export class OracleByteLimit extends InboundByteLimit implements Disposable {
  readonly #sockets: readonly net.Socket[]
  readonly #timer: NodeJS.Timeout
  #bytesBefore = 0
  #maxBytes = maxMessageBytes
  #problem: SourceProblem | undefined

  constructor({ config, openedSockets: opened }: Pick<SessionParameters, 'config' | 'openedSockets'>) {
    super(config, engine.name)
    this.#sockets = opened
    this.#timer = setInterval(() => this.#check(), checkIntervalMs).unref()
  }

  /**
   * Returns the response of the driver. Throws `SourceProblem` if the connection was broken because the response was too
   * large; otherwise the driver's error.
   */
  async request<T>(send: () => Promise<T>, maxBytes = maxMessageBytes): Promise<T> {
    this.#bytesBefore = this.#received()
    this.#maxBytes = maxBytes
    try {
      return await send()
    } catch (error) {
      throw this.#problem ?? error
    }
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
  }

  #received(): number {
    return this.#sockets.reduce((sum, { bytesRead }) => sum + bytesRead, 0)
  }

  #check(): void {
    const problem = this.findProblem(this.#received() - this.#bytesBefore, this.#maxBytes)
    if (!problem) return
    this.#problem ??= problem
    for (const socket of this.#sockets) socket.destroy(new Error('closed'))
  }
}
