import { connect, type Socket } from 'node:net'

/** A chunk of tuples takes two system calls of this size; Node's own reading takes eight. */
const readBytes = 256 * 1024

type BytesHandler = (bytes: Buffer) => void

const takers = new WeakMap<Socket, { take: BytesHandler | undefined }>()

/**
 * Connects a socket that reads into the same memory repeatedly. Listeners of `data` receive a copy, which they may keep; `takeDirectly`
 * makes no copy. Node's own reading allocates a buffer for each 64 KB: 30 MB more memory at any time, and more garbage collection.
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

/**
 * Passes all bytes to `take` from now on, or to the `data` listeners again if `take` is undefined. `take` may use the
 * bytes until it returns. Returns false if the socket does not support this.
 */
export function takeDirectly(socket: Socket, take: BytesHandler | undefined): boolean {
  const taker = takers.get(socket)
  if (taker) taker.take = take
  return taker !== undefined
}
