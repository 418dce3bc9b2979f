import { TextDecoder } from 'node:util'
import { broken, type Decoder } from './decoder.ts'

/** The Latin family and its like: every byte is a character, or none. */
export class SingleByteDecoder implements Decoder {
  /** The UTF-8 of each byte from 0x80 on: up to three bytes, lowest first, with their number above them. */
  readonly #upper: Int32Array
  #out = Buffer.allocUnsafeSlow(0)

  constructor(encoding: string) {
    const decoder = new TextDecoder(encoding, { fatal: true })
    this.#upper = Int32Array.from({ length: 128 }, (_, index) => packed(decoder, index + 128))
  }

  decode(bytes: Buffer): Buffer {
    if (this.#out.length < bytes.length * 3) this.#out = Buffer.allocUnsafeSlow(bytes.length * 3)
    const out = this.#out
    const upper = this.#upper
    let at = 0
    for (let i = 0; i < bytes.length; i++) {
      const byte = bytes[i]!
      if (byte < 128) {
        out[at++] = byte
        continue
      }
      const character = upper[byte - 128]!
      out[at] = character
      out[at + 1] = character >> 8
      out[at + 2] = character >> 16
      at += character >> 24
    }
    return out.subarray(0, at)
  }

  end(): Buffer {
    return Buffer.alloc(0)
  }
}

function packed(decoder: TextDecoder, byte: number): number {
  const utf8 = characterOf(decoder, byte)
  return utf8.reduce((word, part, index) => word | (part << (8 * index)), utf8.length << 24)
}

/** The platform turns bytes that a Windows code page leaves open into control characters; nobody means those. */
function characterOf(decoder: TextDecoder, byte: number): Uint8Array {
  try {
    const character = decoder.decode(Uint8Array.of(byte))
    const open = decoder.encoding.startsWith('windows') && character < '\u00a0'
    return open ? Uint8Array.of(broken) : Buffer.from(character)
  } catch {
    return Uint8Array.of(broken)
  }
}
