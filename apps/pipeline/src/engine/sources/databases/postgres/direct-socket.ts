import { connect, type Socket } from 'node:net'

/** Two system calls for each chunk of tuples, where Node's own reading takes eight. */
const readBytes = 256 * 1024

type BytesHandler = (bytes: Buffer) => void

const takers = new WeakMap<Socket, { take: BytesHandler | undefined }>()

/**
 * Connects a socket whose bytes are read into the same memory again and again. Who listens for `data` gets a copy, which may be kept;
 * `takeDirectly` has no copy made. Node's own reading makes a buffer for each 64 KB: 30 MB more at any time, and work to
 * collect them.
 */
export function connectDirectly(options: {
  host: string
  family: number
  port: number
  keepAliveInitialDelay: number
}): Socket {
  const taker: { take: BytesHandler | undefined } = { take: undefined }
  const socket = connect({
    ...options,
    noDelay: true,
    keepAlive: true,
    onread: {
      buffer: Buffer.allocUnsafeSlow(readBytes),
      callback(length, memory) {
        const bytes = Buffer.from(memory.buffer, memory.byteOffset, length)
        if (taker.take) taker.take(bytes)
        else socket.emit('data', Buffer.from(bytes))
        return true
      },
    },
  })
  takers.set(socket, taker)
  return socket
}

/** Gives all bytes to `take` from now on, or to whoever listens again. The bytes are its own until it returns. False when it cannot be. */
export function takeDirectly(socket: Socket, take: BytesHandler | undefined): boolean {
  const taker = takers.get(socket)
  if (taker) taker.take = take
  return taker !== undefined
}
