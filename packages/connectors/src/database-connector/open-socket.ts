import { connect, type Socket } from 'node:net'
import type { SessionParameters } from './database-session.ts'

const keepAliveInitialDelay = 30_000

/** Starts a connection to an address. */
export type ConnectSocket = (options: {
  host: string
  family: number
  port: number
  keepAliveInitialDelay: number
}) => Socket

/**
 * Opens a socket to the first address that accepts a connection. If all addresses fail, throws the error of the last
 * one; its code is ETIMEDOUT after a timeout.
 */
export async function openSocket(
  { addresses, config, limits, openedSockets }: SessionParameters,
  connectSocket: ConnectSocket = connectWithKeepAlive,
): Promise<Socket> {
  let lastError: unknown
  for (const { address, family } of addresses) {
    try {
      const socket = connectSocket({ host: address, family, port: config.port, keepAliveInitialDelay })
      await waitForConnection(socket, limits.connect)
      openedSockets.push(socket)
      return socket
    } catch (error) {
      lastError = error
    }
  }
  // No connection has failed if the list of addresses is empty.
  throw lastError ?? Object.assign(new Error('no address'), { code: 'ENOTFOUND' })
}

const connectWithKeepAlive: ConnectSocket = (options) => connect({ ...options, noDelay: true, keepAlive: true })

/** Resolves when the socket is connected. Rejects after an error, or with ETIMEDOUT after the time limit. */
function waitForConnection(socket: Socket, timeLimitMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      socket.destroy(Object.assign(new Error('no answer'), { code: 'ETIMEDOUT' }))
    }, timeLimitMs)
    socket.once('error', (error) => {
      clearTimeout(timer)
      reject(error)
    })
    socket.once('connect', () => {
      clearTimeout(timer)
      socket.removeAllListeners('error')
      resolve()
    })
  })
}
