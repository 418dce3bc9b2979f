import { connect as openSocket } from 'node:net'
import { Connection, ISOLATION_LEVEL } from 'tedious'
import { refuseUnencryptedLogin } from '@sluice/database'
import type { DatabaseLogin } from '../tsql-settings.ts'

/** The packet size in bytes: four times the driver's default, and smaller than a TLS record. */
const packetSize = 16_000
const loginTimeoutMs = 15_000
/** Milliseconds that the driver waits for a cancelled statement to end. */
const cancelTimeoutMs = 5_000

/** Connects and logs in. If that fails, closes the connection and throws the driver's error. */
export async function openConnection(login: DatabaseLogin): Promise<Connection> {
  const isolation = login.isolation === undefined ? {} : isolationOptions(ISOLATION_LEVEL[login.isolation]!)
  const connection: Connection = new Connection({
    server: login.host,
    authentication: { type: 'default', options: { userName: login.user, password: login.password } },
    options: {
      port: login.port,
      database: login.database,
      encrypt: login.encrypt,
      trustServerCertificate: login.trustServerCertificate,
      connectTimeout: loginTimeoutMs,
      // `sendRequest` limits the time of statements.
      requestTimeout: 0,
      cancelTimeout: cancelTimeoutMs,
      abortTransactionOnError: true,
      useUTC: true,
      packetSize,
      appName: 'sluice',
      ...isolation,
      // The driver calls `connector` instead of opening the socket itself.
      ...(login.encrypt && {
        connector: async () => refuseUnencryptedLogin(await openServerSocket(connection, login)),
      }),
    },
  })
  connection.on('error', () => {})
  const connected = Promise.withResolvers<void>()
  connection.connect((error) => (error ? connected.reject(error) : connected.resolve()))
  try {
    await connected.promise
    return connection
  } catch (error) {
    connection.close()
    throw error
  }
}

const isolationOptions = (level: number) => ({ isolationLevel: level, connectionIsolationLevel: level })

/**
 * Opens the socket for a connection. If the server has redirected the driver, connects to the new address: Azure
 * servers redirect clients to the machine with the database.
 */
async function openServerSocket(connection: Connection, { host, port }: DatabaseLogin) {
  const { routingData } = connection
  const socket = openSocket({ host: routingData?.server ?? host, port: routingData?.port ?? port, noDelay: true })
  const connected = Promise.withResolvers<void>()
  socket.once('connect', connected.resolve)
  socket.once('error', connected.reject)
  await connected.promise
  socket.off('error', connected.reject)
  return socket
}
