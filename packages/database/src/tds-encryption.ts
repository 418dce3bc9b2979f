import type { Socket } from 'node:net'

/** The first byte of the packet with username and password. */
const loginPacketType = 0x10

/**
 * Closes a connection on which the driver would send the password unencrypted. Whatever its settings are, the driver
 * logs in without TLS if the server does not offer TLS, which allows a downgrade attack. The first packet is the
 * pre-login. The second one is either the login or the start of TLS, after which the socket needs no more checks.
 */
export function encryptedOnly(socket: Socket): Socket {
  const write = socket.write.bind(socket) as (...args: unknown[]) => boolean
  let isPreloginSent = false
  const guardedWrite = (...args: unknown[]): boolean => {
    const [bytes] = args
    if (isPreloginSent && bytes instanceof Uint8Array && bytes[0] === loginPacketType) {
      socket.destroy(new Error('no encryption is offered'))
      return false
    }
    if (isPreloginSent) socket.write = write
    isPreloginSent = true
    return write(...args)
  }
  socket.write = guardedWrite
  return socket
}
