import type { Socket } from 'node:net'

/** The first byte of the packet that contains the username and password. */
const loginPacketType = 0x10

/**
 * Closes a connection on which the driver would send the password unencrypted. The driver signs in without TLS if the server does not
 * offer it, whatever its settings are, which allows a downgrade attack. The first packet is the pre-login; the second one is the
 * sign-in or the start of TLS, after which the socket needs no more checks.
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
