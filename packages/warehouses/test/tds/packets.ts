import type { Socket } from 'node:net'

/** Kinds of messages of TDS. */
export const kinds = {
  batch: 1,
  rpc: 3,
  answer: 4,
  attention: 6,
  bulk: 7,
  transaction: 14,
  login: 16,
  preLogin: 18,
} as const

const header = 8
const lastPacket = 1
const ignored = 2

export interface Message {
  kind: number
  bytes: Buffer
  /** The client took it back: nothing of it counts. */
  ignored: boolean
}

/** Puts packets together: a message goes on until one says that it is the last. */
export async function* messagesOf(socket: Socket): AsyncGenerator<Message> {
  let held = Buffer.alloc(0)
  let parts: Buffer[] = []
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    held = Buffer.concat([held, chunk])
    while (held.length >= header && held.length >= held.readUInt16BE(2)) {
      const length = held.readUInt16BE(2)
      const [kind, status] = [held[0]!, held[1]!]
      parts.push(held.subarray(header, length))
      held = held.subarray(length)
      if ((status & lastPacket) === 0) continue
      yield { kind, bytes: Buffer.concat(parts), ignored: (status & ignored) !== 0 }
      parts = []
    }
  }
}

/** As one message of the server, in packets of the usual size. */
export function inPackets(bytes: Buffer, size = 4_096): Buffer {
  const packets: Buffer[] = []
  const room = size - header
  for (let from = 0; from === 0 || from < bytes.length; from += room) {
    const part = bytes.subarray(from, from + room)
    const head = Buffer.from([kinds.answer, from + room >= bytes.length ? 1 : 0, 0, 0, 0, 0, 1, 0])
    head.writeUInt16BE(part.length + header, 2)
    packets.push(head, part)
  }
  return Buffer.concat(packets)
}

/** Reads bytes from the front to the back. */
export class Reader {
  readonly bytes: Buffer
  at = 0

  constructor(bytes: Buffer) {
    this.bytes = bytes
  }

  get done(): boolean {
    return this.at >= this.bytes.length
  }

  take(length: number): Buffer {
    this.at += length
    return this.bytes.subarray(this.at - length, this.at)
  }

  number(bytes: number): number {
    return this.take(bytes).readUIntLE(0, bytes)
  }

  text(units: number): string {
    return this.take(units * 2).toString('utf16le')
  }
}
