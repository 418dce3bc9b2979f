import oracledb from 'oracledb'
import { RowEncoder, type SourceProblem, type StoredType } from '@sluice/row-stream'
import type { DatabaseConfig, DatabaseLimits } from '../database-connector/database-config.ts'
import {
  type ReadNote,
  type SourceStatement,
  type SessionParameters,
  type DescribedStatement,
  type DatabaseEngine,
  StatementNotAllowedError,
  type DatabaseSession,
  buildStatement,
} from '../database-connector/database-session.ts'
import { type TupleSink, writeRow } from '../database-connector/tuple-sink.ts'
import { InboundByteLimit, maxMessageBytes } from '../database-connector/inbound-byte-limit.ts'
import {
  type OracleField,
  oracleColumnType,
  createFilterSyntax,
  createValueConverter,
  getFetchType,
  quoteName,
} from './column-types.ts'
import type { SourceClock } from '../database-connector/increments/cursor-value.ts'
import { buildWhere, type RowFilter } from '../database-connector/increments/row-filter.ts'
import { classifyOracleError, createRedirectError, UnsupportedName } from './classify-oracle-error.ts'
import dns from 'node:dns'
import net from 'node:net'

export const engine: DatabaseEngine = { name: 'Oracle', open: openOracleSession, classifyError: classifyOracleError }

/**
 * Dates are fetched as text, because the driver's JavaScript dates have only milliseconds. The year has a sign, because
 * years before 1 are possible.
 */
const sessionSettings = `alter session set nls_date_format = 'SYYYY-MM-DD"T"HH24:MI:SS' nls_timestamp_format = 'SYYYY-MM-DD"T"HH24:MI:SS.FF9'
  nls_timestamp_tz_format = 'SYYYY-MM-DD"T"HH24:MI:SS.FF9TZH:TZM' nls_numeric_characters = '.,' time_zone = 'UTC'`

/**
 * Signs in and starts a read-only transaction. Reads the clock before it, so that the cursor is not too late. Each
 * request limits the bytes that the server may send.
 */
async function openOracleSession(parameters: SessionParameters): Promise<DatabaseSession> {
  const { config, limits } = parameters
  const credentials = {
    user: config.username,
    password: config.password,
    connectString: formatConnectString(config, limits),
    sslServerDNMatch: !config.trustServerCertificate,
  }
  restrictConnections(parameters)
  const byteLimit = new OracleByteLimit(parameters)
  const connection = await byteLimit.request(() => oracledb.getConnection(credentials))
  byteLimit.isSignedIn = true
  const session = new OracleSession(connection, byteLimit)
  if (config.ssl && config.trustServerCertificate)
    session.notes.push({
      level: 'WARN',
      message:
        'trustServerCertificate has a limited effect: Oracle’s driver always checks the issuer of the certificate and skips only the check of its name.',
    })
  await byteLimit.request(() => connection.execute(sessionSettings))
  await session.recordClock()
  await byteLimit.request(() => connection.execute('set transaction read only'))
  return session
}

/**
 * Returns the database's address in the syntax of Oracle Net. Rejects names with parentheses, which have a meaning in
 * that syntax.
 */
function formatConnectString({ host, port, database, ssl }: DatabaseConfig, limits: DatabaseLimits): string {
  if (!/^[\w.:-]{1,255}$/.test(host)) throw new UnsupportedName('HOST_UNKNOWN')
  if (!/^[\w.$#-]{1,255}$/.test(database)) throw new UnsupportedName('DATABASE_MISSING')
  const seconds = Math.max(1, Math.ceil(limits.signIn / 1000))
  const address = `(address=(protocol=${ssl ? 'tcps' : 'tcp'})(host=${host})(port=${port}))`
  return `(description=(connect_timeout=${seconds})(transport_connect_timeout=${seconds})(expire_time=1)${address}(connect_data=(service_name=${database})))`
}

/** A described query with its columns. For a table's query, a condition can be appended. */
interface OracleQuery {
  text: string
  fields: readonly OracleField[]
  isTable: boolean
}

class OracleSession implements DatabaseSession {
  readonly notes: ReadNote[] = []
  readonly #connection: oracledb.Connection
  readonly #byteLimit: OracleByteLimit
  #clock: SourceClock = { utc: '', local: '' }
  #received = 0

  constructor(connection: oracledb.Connection, byteLimit: OracleByteLimit) {
    this.#connection = connection
    this.#byteLimit = byteLimit
  }

  received = (): number => this.#received

  /** Reads the server's clock before the transaction starts. */
  async recordClock(): Promise<void> {
    const text = `select to_char(sys_extract_utc(systimestamp), 'YYYY-MM-DD HH24:MI:SS.FF9'), to_char(systimestamp, 'YYYY-MM-DD HH24:MI:SS.FF9') from dual`
    const [utcTime = '', localTime = ''] = (await this.#fetchRow(text)) as string[]
    this.#clock = { utc: utcTime, local: localTime }
  }

  async readClock(): Promise<SourceClock> {
    return this.#clock
  }

  async #findLargest({ text, fields }: OracleQuery, index: number, filter: RowFilter): Promise<string | null> {
    const [largestValue] = await this.#fetchRow(buildLargestQuery(text, fields, index, filter))
    return typeof largestValue === 'string' ? largestValue : null
  }

  /** Returns the first row of a query, or an empty list if it has no rows. */
  async #fetchRow(text: string): Promise<unknown[]> {
    const options = { outFormat: oracledb.OUT_FORMAT_ARRAY, fetchTypeHandler: getFetchType }
    const { rows } = await this.#byteLimit.request(() => this.#connection.execute<unknown[]>(text, [], options))
    return rows?.[0] ?? []
  }

  async describe(statement: SourceStatement): Promise<DescribedStatement> {
    const text = buildStatement(statement, quoteName)
    const { metaData, statementType } = await this.#byteLimit.request(() => this.#connection.getStatementInfo(text))
    if (statementType !== oracledb.STMT_TYPE_SELECT || !metaData?.length) throw new StatementNotAllowedError()
    const query = { text, fields: metaData, isTable: 'name' in statement }
    return {
      columns: metaData.map((column) => ({ label: column.name, ...oracleColumnType(column) })),
      notes: [],
      findLargest: (index, filter) => this.#findLargest(query, index, filter),
      read: (types, sink, filter) => this.#read(query, types, sink, filter),
    }
  }

  /** Runs the operation without a savepoint, because in Oracle an error of a statement does not end the transaction. */
  withSavepoint = <T>(operation: () => Promise<T>): Promise<T> => operation()

  async #read(
    { text, fields, isTable }: OracleQuery,
    types: readonly StoredType[],
    sink: TupleSink,
    filter: RowFilter,
  ): Promise<ReadNote[]> {
    const columns = types.map((type, index) => ({ label: fields[index]!.name, ...type }))
    const encoder = new RowEncoder(columns, sink.buffer)
    const rowsPerResponse = getRowsPerResponse(fields)
    const options = {
      resultSet: true,
      outFormat: oracledb.OUT_FORMAT_ARRAY,
      fetchArraySize: rowsPerResponse,
      prefetchRows: rowsPerResponse,
      fetchTypeHandler: getFetchType,
    }
    const filteredQuery = buildFilteredQuery(text, fields, filter, { isTable })
    const execute = () => this.#connection.execute<unknown[]>(filteredQuery, [], options)
    const { resultSet } = await this.#byteLimit.request(execute, maxRowsBytes)
    const rows = {
      getRows: (maxRows: number) => this.#byteLimit.request(() => resultSet!.getRows(maxRows), maxRowsBytes),
      close: () => resultSet!.close(),
    }
    // Counts rows instead of received bytes as activity, because the driver does not expose its socket.
    const onRows = (count: number) => {
      this.#received += count
    }
    await writeAllRows(rows, fields, encoder, sink, onRows)
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

/** Returns the query for the largest value of a column among the rows that match the filter. */
export function buildLargestQuery(
  text: string,
  fields: readonly OracleField[],
  index: number,
  filter: RowFilter,
): string {
  const syntax = createFilterSyntax(fields)
  return `select max(${syntax.column(index)}) from (\n${text}\n)${buildWhere(filter, syntax)}`
}

/** Adds the filter to a statement: as its WHERE clause for a table, and as that of a query around it for other SQL. */
export function buildFilteredQuery(
  text: string,
  fields: readonly OracleField[],
  filter: RowFilter,
  { isTable }: { isTable: boolean },
): string {
  const whereClause = buildWhere(filter, createFilterSyntax(fields))
  if (whereClause === '' || isTable) return text + whereClause
  return `select * from (\n${text}\n)${whereClause}`
}

/**
 * Restricts all connections of this thread to the checked addresses. This is needed because the driver accepts no
 * socket, resolves names itself and follows a listener's redirects. The host then resolves only to these addresses,
 * other hosts do not resolve, and connections to other addresses fail. Other threads have their own copy of these
 * modules and are not affected.
 */
function restrictConnections({ addresses, config, openedSockets }: SessionParameters): void {
  const allowedAddresses = new Set(addresses.map(({ address }) => address))
  const lookup = async (host: string) => {
    if (host.toLowerCase() !== config.host.toLowerCase()) throw createRedirectError(host)
    return addresses.map(({ address, family }) => ({ address, family }))
  }
  const connect = net.connect as (port: number | string, host: string, onConnect: () => void) => net.Socket
  const connectIfAllowed = (port: number | string, host: string, onConnect: () => void): net.Socket => {
    const isAllowed = allowedAddresses.has(host) && Number(port) === config.port
    if (isAllowed) {
      const socket = connect(port, host, onConnect)
      openedSockets.push(socket)
      return socket
    }
    const socket = new net.Socket()
    setImmediate(() => socket.destroy(createRedirectError(host)))
    return socket
  }
  Object.assign(dns.promises, { lookup })
  Object.assign(net, { connect: connectIfAllowed })
}

/** Types with values of up to several megabytes. The driver holds all rows of a response in memory at once. */
const largeValueTypes: ReadonlySet<unknown> = new Set([
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

/** Returns the number of rows per response, which is small if the rows can be large. */
export function getRowsPerResponse(fields: readonly Pick<OracleField, 'dbType'>[]): number {
  const hasLargeValues = fields.some(({ dbType }) => largeValueTypes.has(dbType))
  return hasLargeValues ? 16 : 1_000
}

/** The result set of a query. */
export interface OracleRows {
  /** Returns the next rows. The list is empty after the last row. */
  getRows(maxRows: number): Promise<unknown[][]>
  close(): Promise<void>
}

/** Writes all rows to the sink and closes the result set. Calls `onRows` with the number of rows of each response. */
export async function writeAllRows(
  rows: OracleRows,
  fields: readonly OracleField[],
  encoder: RowEncoder,
  sink: TupleSink,
  onRows: (count: number) => void,
): Promise<void> {
  const rowsPerResponse = getRowsPerResponse(fields)
  const valueConverters = fields.map(createValueConverter)
  try {
    for (;;) {
      const batch = await rows.getRows(rowsPerResponse)
      if (batch.length === 0) return
      onRows(batch.length)
      for (const row of batch) {
        for (const [index, convert] of valueConverters.entries()) if (convert) row[index] = convert(row[index])
        const hasRoom = writeRow(encoder, sink, row)
        if (!hasRoom) await sink.waitForRoom()
      }
    }
  } finally {
    // Ignores an error of closing a broken connection, so that the first error is reported.
    await rows.close().catch(() => {})
  }
}

/** Milliseconds between checks of the received bytes. In this time, the network can deliver bytes beyond the limit. */
const checkIntervalMs = 20
/** The maximum bytes of a response, which can contain 16 rows of several megabytes each. */
const maxRowsBytes = 4 * maxMessageBytes

/**
 * Limits the received bytes of each response, TLS included, and closes the connection above the limit, because the
 * driver buffers everything that arrives. The driver does not expose its sockets, so they come from the connection
 * hooks.
 */
export class OracleByteLimit extends InboundByteLimit implements Disposable {
  readonly #sockets: readonly net.Socket[]
  readonly #timer: NodeJS.Timeout
  #bytesBefore = 0
  #maxBytes = maxMessageBytes
  #problem: SourceProblem | undefined

  constructor({ config, openedSockets }: Pick<SessionParameters, 'config' | 'openedSockets'>) {
    super(config, engine.name)
    this.#sockets = openedSockets
    this.#timer = setInterval(() => this.#check(), checkIntervalMs).unref()
  }

  /**
   * Sends a request through the driver and returns the response. If the response is too large, the connection is closed
   * and the `SourceProblem` for it is thrown. Otherwise throws the errors of the driver.
   */
  async request<T>(send: () => Promise<T>, maxBytes = maxMessageBytes): Promise<T> {
    this.#bytesBefore = this.#countReceived()
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

  #countReceived(): number {
    return this.#sockets.reduce((sum, { bytesRead }) => sum + bytesRead, 0)
  }

  #check(): void {
    const problem = this.findProblem(this.#countReceived() - this.#bytesBefore, this.#maxBytes)
    if (!problem) return
    this.#problem ??= problem
    for (const socket of this.#sockets) socket.destroy(new Error('closed'))
  }
}
