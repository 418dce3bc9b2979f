import type { Socket } from 'node:net'

/** The first byte of the packet that holds a user's name and password. */
const login = 0x10

/**
 * Breaks a connection on which the password would go out unencrypted. The driver encrypts where the server offers it, and signs in without
 * where it does not, whatever it was told: whoever stands between could have it so. It asks first, in one packet; the
 * second is the sign-in, or the beginning of TLS, after which there is nothing to look at any more.
 */
export function encryptedOnly(socket: Socket): Socket {
  const write = socket.write.bind(socket) as (...given: unknown[]) => boolean
  let asked = false
  const watched = (...given: unknown[]): boolean => {
    const [bytes] = given
    if (asked && bytes instanceof Uint8Array && bytes[0] === login) {
      socket.destroy(new Error('no encryption is offered'))
      return false
    }
    if (asked) socket.write = write
    asked = true
    return write(...given)
  }
  socket.write = watched
  return socket
}
