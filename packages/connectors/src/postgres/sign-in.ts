import type { Socket } from 'node:net'
import { Client, type Connection } from 'pg'
import type { DatabaseConfig } from '../database-connector/database-config.ts'
import { FramedByteLimit } from '../database-connector/inbound-byte-limit.ts'
import type { SessionParameters } from '../database-connector/session.ts'
import { openSocket } from '../database-connector/sockets.ts'
import { connectDirectly } from './direct-socket.ts'

/** A signed-in client and its socket. */
export interface SignedInClient {
  client: Client
  socket: Socket
}

const firstBytes = new Set([...'RENv'].map((letter) => letter.charCodeAt(0)))

/** Signs in to a server that speaks PostgreSQL's protocol. `begin` is part of the sign-in: if it fails, the connection is closed. */
export async function signIn(
  access: SessionParameters,
  byteLimit: PostgresByteLimit,
  begin: (client: Client) => Promise<unknown>,
): Promise<SignedInClient> {
  const { host, port, database, username, password, ssl, trustServerCertificate } = access.config
  const socket = await (ssl ? openSocket(access) : openSocket(access, connectDirectly))
  const client = new Client({
    host,
    port,
    database,
    user: username,
    // The driver treats an empty text as absent and then looks for another password.
    password: () => password,
    ssl: ssl && { rejectUnauthorized: !trustServerCertificate },
    stream: () => connected(socket),
    connectionTimeoutMillis: access.limits.signIn,
    application_name: 'sluice',
  })
  client.on('error', () => {})
  try {
    // @types/pg does not declare this property.
    const { connection } = client as unknown as { connection: Connection }
    connection.once('sslconnect', () => byteLimit.watch(connection.stream))
    const connecting = client.connect()
    if (!ssl) byteLimit.watch(socket)
    if (!ssl)
      socket.once('data', (bytes: Buffer) => {
        if (!firstBytes.has(bytes[0]!))
          socket.destroy(Object.assign(new Error('not its protocol'), { code: 'ERR_SSL' }))
      })
    await connecting
    await begin(client)
  } catch (error) {
    socket.destroy()
    throw error
  }
  return { client, socket }
}

/** The code of `CancelRequest` in the protocol. */
const cancelCode = 80_877_102
/** Timeout of a cancellation, in milliseconds. */
const longestCancel = 1_500

/**
 * Requests the cancellation of a session's query over a separate connection, because the session's own is busy. The server
 * responds by closing the connection.
 */
export async function cancelSession(access: SessionParameters, client: Client): Promise<void> {
  const { processID, secretKey } = client as unknown as { processID: number | null; secretKey: number | null }
  if (processID === null || secretKey === null) return
  const request = Buffer.alloc(16)
  for (const [index, value] of [16, cancelCode, processID, secretKey].entries()) request.writeInt32BE(value, index * 4)
  const socket = await openSocket(access)
  await new Promise<void>((resolve) => {
    socket.setTimeout(longestCancel, () => socket.destroy())
    socket.on('error', () => {})
    socket.once('close', () => resolve())
    socket.resume()
    socket.end(request)
  })
}

/** Returns an open socket for the driver, which would otherwise connect by itself, by name. */
function connected(socket: Socket): Socket {
  socket.connect = () => {
    setImmediate(() => socket.emit('connect'))
    return socket
  }
  return socket
}

const headerBytes = 5
const readyForQuery = 0x5a
const dataRow = 0x44
/** Notices, settings and notifications may arrive at any time and in any number; the driver does not keep them. */
const ignoredMessageTypes = new Set([...'NSA'].map((letter) => letter.charCodeAt(0)))

/**
 * Reads message headers: a letter, and a length that includes itself,
 * https://www.postgresql.org/docs/current/protocol-message-formats.html.
 */
export class PostgresByteLimit extends FramedByteLimit {
  /** Whether the driver keeps one row at a time: then each row is limited, and not their sum. */
  readsRowByRow = false

  constructor(config: DatabaseConfig, engine: string) {
    super(headerBytes, config, engine)
  }

  protected override recordHeader(header: Buffer): number {
    const type = header[0]!
    const length = header.readUInt32BE(1)
    if (length < 4) throw this.createOtherProtocolProblem()
    this.messageBytes = length
    if (type === readyForQuery) {
      this.isSignedIn = true
      this.responseBytes = 0
    } else if (!ignoredMessageTypes.has(type) && !(this.readsRowByRow && type === dataRow)) this.responseBytes += length
    return length - 4
  }
}
