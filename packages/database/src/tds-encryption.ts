import type { Socket } from 'node:net'

/** The first byte of the packet with username and password. */
const loginPacketType = 0x10

/**
 * Replaces the socket's `write` method, so that the socket is destroyed instead of sending a password unencrypted.
 * Returns the same socket. Whatever its settings are, the driver logs in without TLS if the server does not offer TLS.
 * That allows a downgrade attack.
 *
 * The driver's first packet is the pre-login. The second one is either an unencrypted login or the start of TLS. After
 * the start of TLS, the original `write` method is restored.
 */
export function refuseUnencryptedLogin(socket: Socket): Socket {
  const write = socket.write.bind(socket) as (...args: unknown[]) => boolean
  let isPreloginSent = false
  socket.write = (...args: unknown[]): boolean => {
    const [bytes] = args
    if (!isPreloginSent) {
      isPreloginSent = true
      return write(...args)
    }
    if (bytes instanceof Uint8Array && bytes[0] === loginPacketType) {
      socket.destroy(new Error('no encryption is offered'))
      return false
    }
    socket.write = write
    return write(...args)
  }
  return socket
}
