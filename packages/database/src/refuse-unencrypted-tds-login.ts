import type { Socket } from 'node:net'

/** The first byte of the packet with username and password. */
const loginPacketType = 0x10

const isUnencryptedLogin = (bytes: unknown): boolean => bytes instanceof Uint8Array && bytes[0] === loginPacketType

/**
 * Destroys the socket instead of sending a password unencrypted. Returns the same socket with another `write` method.
 * Whatever its settings are, the driver logs in without TLS if the server does not offer TLS, which allows a downgrade
 * attack.
 */
export function refuseUnencryptedLogin(socket: Socket): Socket {
  const originalWrite = socket.write.bind(socket) as (...args: unknown[]) => boolean
  let isPreloginSent = false
  socket.write = (...args: unknown[]): boolean => {
    if (!isPreloginSent) {
      isPreloginSent = true
      return originalWrite(...args)
    }
    if (isUnencryptedLogin(args[0])) {
      socket.destroy(new Error('no encryption is offered'))
      return false
    }
    // This packet starts TLS, which encrypts all further packets.
    socket.write = originalWrite
    return originalWrite(...args)
  }
  return socket
}
