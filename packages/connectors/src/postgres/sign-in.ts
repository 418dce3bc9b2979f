import type { Socket } from 'node:net'
import { Client, type Connection } from 'pg'
import { createReusedBufferSocket } from '@sluice/database'
import type { DatabaseConfig } from '../database-connector/database-config.ts'
import { FramedByteLimit } from '../database-connector/inbound-byte-limit.ts'
import type { SessionParameters } from '../database-connector/database-session.ts'
import { type ConnectSocket, openSocket } from '../database-connector/open-socket.ts'

/** A client of the driver after login, and its socket. */
export interface SignedInClient {
  client: Client
  socket: Socket
}

/** The types of messages with which a PostgreSQL server can respond first. */
const firstMessageTypes = new Set([...'RENv'].map((character) => character.charCodeAt(0)))

/**
 * Logs in to a server with the PostgreSQL protocol, then calls `beginSession`. If either fails, closes the connection.
 * `byteLimit` limits the bytes that the server may send.
 */
export async function signIn(
  parameters: SessionParameters,
  byteLimit: PostgresByteLimit,
  beginSession: (client: Client) => Promise<unknown>,
): Promise<SignedInClient> {
  const { host, port, database, username, password, ssl, trustServerCertificate } = parameters.config
  const socket = await (ssl ? openSocket(parameters) : openSocket(parameters, connectReusedBufferSocket))
  const client = new Client({
    host,
    port,
    database,
    user: username,
    // Always passes a password, because the driver would otherwise search the environment and files for one.
    password: () => password,
    ssl: ssl && { rejectUnauthorized: !trustServerCertificate },
    stream: () => createSocketProvider(socket),
    connectionTimeoutMillis: parameters.limits.signIn,
    application_name: 'sluice',
  })
  // Errors also reject the pending query, so this event needs no handling.
  client.on('error', () => {})
  try {
    // The driver's types do not declare this property.
    const { connection } = client as unknown as { connection: Connection }
    // TLS replaces the stream by an encrypted one.
    connection.once('sslconnect', () => byteLimit.watch(connection.stream))
    const connected = client.connect()
    if (!ssl) {
      byteLimit.watch(socket)
      rejectOtherProtocols(socket)
    }
    await connected
    await beginSession(client)
  } catch (error) {
    socket.destroy()
    throw error
  }
  return { client, socket }
}

/** Closes the socket with an error if the first byte of the server is not the type of a PostgreSQL message. */
function rejectOtherProtocols(socket: Socket): void {
  socket.once('data', (bytes: Buffer) => {
    if (firstMessageTypes.has(bytes[0]!)) return
    const error = new Error('The server does not use the PostgreSQL protocol.')
    socket.destroy(Object.assign(error, { code: 'ERR_SSL' }))
  })
}

/** The request code of `CancelRequest` in the PostgreSQL protocol. */
const cancelCode = 80_877_102
/** The time limit of a cancellation, in milliseconds. */
const cancelTimeoutMs = 1_500

/**
 * Cancels the current query of a session. The protocol requires a separate connection for this request; the server
 * closes it as the response.
 */
export async function cancelSession(parameters: SessionParameters, client: Client): Promise<void> {
  const { processID, secretKey } = client as unknown as { processID: number | null; secretKey: number | null }
  if (processID === null || secretKey === null) return
  // The request consists of four 32-bit integers. The first one is its length in bytes.
  const fields = [16, cancelCode, processID, secretKey]
  const request = Buffer.alloc(16)
  for (const [index, field] of fields.entries()) request.writeInt32BE(field, index * 4)
  const socket = await openSocket(parameters)
  await new Promise<void>((resolve) => {
    socket.setTimeout(cancelTimeoutMs, () => socket.destroy())
    socket.on('error', () => {})
    socket.once('close', () => resolve())
    socket.resume()
    socket.end(request)
  })
}

const connectReusedBufferSocket: ConnectSocket = ({ keepAliveInitialDelay, ...address }) =>
  createReusedBufferSocket({ noDelay: true, keepAlive: true, keepAliveInitialDelay }).connect(address)

/** Makes the driver use an open socket. Otherwise it would resolve the host name and connect by itself. */
function createSocketProvider(socket: Socket): Socket {
  socket.connect = () => {
    setImmediate(() => socket.emit('connect'))
    return socket
  }
  return socket
}

const headerBytes = 5
const lengthBytes = 4
const readyForQuery = 0x5a
const dataRow = 0x44
/**
 * Types of messages that do not count: notices, parameter changes and notifications. The driver does not keep them, and
 * a server can send any number.
 */
const ignoredMessageTypes = new Set([...'NSA'].map((character) => character.charCodeAt(0)))

/**
 * Parses message headers: a type character, and a length that includes itself. See
 * https://www.postgresql.org/docs/current/protocol-message-formats.html.
 */
export class PostgresByteLimit extends FramedByteLimit {
  /**
   * True if the driver keeps only one row at a time. The limit then applies to each row, otherwise to all rows
   * together.
   */
  readsRowByRow = false

  constructor(config: DatabaseConfig, engine: string) {
    super(headerBytes, config, engine)
  }

  protected override recordHeader(header: Buffer): number {
    const type = header[0]!
    const length = header.readUInt32BE(1)
    if (length < lengthBytes) throw this.createOtherProtocolProblem()
    this.messageBytes = length
    if (type === readyForQuery) {
      this.isSignedIn = true
      this.responseBytes = 0
    } else {
      const isDroppedRow = this.readsRowByRow && type === dataRow
      if (!ignoredMessageTypes.has(type) && !isDroppedRow) this.responseBytes += length
    }
    return length - lengthBytes
  }
}
