import { connect, type Socket } from 'node:net'

/** The size of the read buffer. A chunk of tuples takes two system calls with it, and eight with the default of Node. */
const readBytes = 256 * 1024

type BytesHandler = (bytes: Buffer) => void

const bytesHandlers = new WeakMap<Socket, { take: BytesHandler | undefined }>()

/**
 * Opens a socket that always reads into the same memory. Node's default allocates a buffer for each 64 KB, which takes 30 MB
 * more memory and more garbage collection. Listeners of `data` receive a copy of the bytes; `takeDirectly` avoids the copy.
 */
export function openDirectSocket(options: {
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
  bytesHandlers.set(socket, taker)
  return socket
}

/**
 * Passes all received bytes to `take`, or to the `data` listeners again if `take` is undefined. `take` must not keep the bytes
 * after it returns. Returns false if the socket does not support this.
 */
export function takeDirectly(socket: Socket, take: BytesHandler | undefined): boolean {
  const taker = bytesHandlers.get(socket)
  if (taker) taker.take = take
  return taker !== undefined
}
