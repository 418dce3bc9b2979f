import oracledb from 'oracledb'
import { RowEncoder } from '@sluice/tuples'
import type { StoredType } from '../../source.ts'
import type { Note, Statement } from '../protocol.ts'
import type { Access, DescribedColumn, Engine, Session } from '../session.ts'
import type { TupleSink } from '../tuple-sink.ts'
import { longestRows, OracleArrivals } from './arrivals.ts'
import { columnOf, fetchAs, type OracleField } from './columns.ts'
import { connectString } from './connect-string.ts'
import { pinNetwork } from './pinned-network.ts'
import { explainOracle } from './problems.ts'
import { readRows, rowsAtOnce } from './read-rows.ts'
import { NotAllowed, statementText } from '../statements.ts'
import { quoted } from './quoted.ts'

export const oracle: Engine = { name: 'Oracle', open, explain: explainOracle }

/** Dates come as text: the driver's own would lose what is finer than a millisecond. The year has a sign, since there is one before 1. */
const sessionSettings = `alter session set nls_date_format = 'SYYYY-MM-DD"T"HH24:MI:SS' nls_timestamp_format = 'SYYYY-MM-DD"T"HH24:MI:SS.FF9'
  nls_timestamp_tz_format = 'SYYYY-MM-DD"T"HH24:MI:SS.FF9TZH:TZM' nls_numeric_characters = '.,' time_zone = 'UTC'`

async function open(access: Access): Promise<Session> {
  const { config, limits } = access
  const connect = connectString(config, limits)
  pinNetwork(access)
  const arrivals = new OracleArrivals(access)
  const signIn = {
    user: config.username,
    password: config.password,
    connectString: connect,
    sslServerDNMatch: !config.trustServerCertificate,
  }
  const connection = await arrivals.ask(() => oracledb.getConnection(signIn))
  arrivals.signedIn()
  const session = new OracleSession(connection, arrivals)
  if (config.ssl && config.trustServerCertificate)
    session.notes.push({
      level: 'WARN',
      message: 'Oracle’s driver always checks who signed the certificate; only its name is left unchecked.',
    })
  await arrivals.ask(() => connection.execute(sessionSettings))
  await arrivals.ask(() => connection.execute('set transaction read only'))
  return session
}

class OracleSession implements Session {
  readonly notes: Note[] = []
  readonly #connection: oracledb.Connection
  readonly #arrivals: OracleArrivals
  #text = ''
  #columns: OracleField[] = []
  #received = 0

  constructor(connection: oracledb.Connection, arrivals: OracleArrivals) {
    this.#connection = connection
    this.#arrivals = arrivals
  }

  received = (): number => this.#received

  async describe(statement: Statement): Promise<{ columns: DescribedColumn[]; notes: Note[] }> {
    this.#text = statementText(statement, quoted)
    const { metaData, statementType } = await this.#arrivals.ask(() => this.#connection.getStatementInfo(this.#text))
    if (statementType !== oracledb.STMT_TYPE_SELECT || !metaData?.length) throw new NotAllowed()
    this.#columns = metaData
    return { columns: metaData.map((column) => ({ label: column.name, ...columnOf(column) })), notes: [] }
  }

  async read(types: readonly StoredType[], sink: TupleSink): Promise<Note[]> {
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
    const asked = () => this.#connection.execute<unknown[]>(this.#text, [], options)
    const { resultSet } = await this.#arrivals.ask(asked, longestRows)
    const rows = {
      getRows: (most: number) => this.#arrivals.ask(() => resultSet!.getRows(most), longestRows),
      close: () => resultSet!.close(),
    }
    // The driver keeps its socket to itself, so what counts as received are rows.
    await readRows(rows, this.#columns, encoder, sink, (rows) => (this.#received += rows))
    return []
  }

  cancel(): Promise<void> {
    return this.#connection.break()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#arrivals[Symbol.dispose]()
    await this.#connection.close({ drop: true }).catch(() => {})
  }
}
