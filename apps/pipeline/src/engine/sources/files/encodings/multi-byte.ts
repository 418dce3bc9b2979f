import { TextDecoder } from 'node:util'
import { broken, type Decoder } from './decoder.ts'

const replacement = '\uFFFD'

/** The encodings of East Asia, by the platform's own decoder. Where it would put a replacement character, a broken byte stays. */
export class MultiByteDecoder implements Decoder {
  readonly #decoder: TextDecoder

  constructor(encoding: string) {
    this.#decoder = new TextDecoder(encoding, { fatal: false, ignoreBOM: true })
  }

  decode(bytes: Buffer): Buffer {
    return utf8(this.#decoder.decode(bytes, { stream: true }))
  }

  end(): Buffer {
    return utf8(this.#decoder.decode())
  }
}

function utf8(text: string): Buffer {
  if (!text.includes(replacement)) return Buffer.from(text)
  const parts = text.split(replacement)
  return Buffer.concat(parts.flatMap((part, index) => [...(index > 0 ? [Buffer.of(broken)] : []), Buffer.from(part)]))
}
