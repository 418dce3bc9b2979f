import type { ByteSource } from '../spool/byte-source.ts'
import type { TextEncoding } from './text-encoding.ts'
import { TextDecoder } from 'node:util'

const multiByte = /^(gbk|gb18030|big5|euc-jp|iso-2022-jp|shift_jis|euc-kr)$/

/** Returns the decoder for an encoding other than UTF-8. `encoding` is TextDecoder's name for it. */
export function decoderOf(encoding: string): TextDecoderPort {
  if (encoding === 'utf-16le' || encoding === 'utf-16be') return new Utf16Decoder(encoding)
  return multiByte.test(encoding) ? new MultiByteDecoder(encoding) : new SingleByteDecoder(encoding)
}

/** Yields a text converted to UTF-8, without its byte order mark. */
export function convertToUtf8(
  source: ByteSource,
  { encoding, skip }: Pick<TextEncoding, 'encoding' | 'skip'>,
): ByteSource {
  if (encoding === 'utf-8' && skip === 0) return source
  return { chunks: () => decodeChunks(source, encoding, skip) }
}

async function* decodeChunks(source: ByteSource, encoding: string, skip: number): AsyncGenerator<Buffer, void, void> {
  const decoder = encoding === 'utf-8' ? undefined : decoderOf(encoding)
  let remaining = skip
  for await (const chunk of source.chunks()) {
    const bytes = remaining === 0 ? chunk : chunk.subarray(remaining)
    remaining = Math.max(0, remaining - chunk.length)
    if (bytes.length > 0) yield decoder ? decoder.decode(bytes) : bytes
  }
  if (decoder) yield decoder.end()
}

const replacementCharacter = '\uFFFD'

/**
 * Decodes East Asian encodings with the platform's decoder. A byte that the decoder would replace by U+FFFD stays
 * invalid.
 */
class MultiByteDecoder implements TextDecoderPort {
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
  if (!text.includes(replacementCharacter)) return Buffer.from(text)
  const parts = text.split(replacementCharacter)
  return Buffer.concat(
    parts.flatMap((part, index) => [...(index > 0 ? [Buffer.of(invalidByte)] : []), Buffer.from(part)]),
  )
}

/** Decodes Latin and similar encodings, in which every byte is a character or invalid. */
class SingleByteDecoder implements TextDecoderPort {
  /**
   * The UTF-8 bytes of each input byte from 0x80 on: up to three bytes, lowest first, and their number in the highest
   * byte.
   */
  readonly #upper: Int32Array
  #out = Buffer.allocUnsafeSlow(0)

  constructor(encoding: string) {
    const decoder = new TextDecoder(encoding, { fatal: true })
    this.#upper = Int32Array.from({ length: 128 }, (_, index) => packCharacter(decoder, index + 128))
  }

  decode(bytes: Buffer): Buffer {
    if (this.#out.length < bytes.length * 3) this.#out = Buffer.allocUnsafeSlow(bytes.length * 3)
    const out = this.#out
    const upper = this.#upper
    let position = 0
    for (let i = 0; i < bytes.length; i++) {
      const byte = bytes[i]!
      if (byte < 128) {
        out[position++] = byte
        continue
      }
      const character = upper[byte - 128]!
      out[position] = character
      out[position + 1] = character >> 8
      out[position + 2] = character >> 16
      position += character >> 24
    }
    return out.subarray(0, position)
  }

  end(): Buffer {
    return Buffer.alloc(0)
  }
}

function packCharacter(decoder: TextDecoder, byte: number): number {
  const utf8 = characterOf(decoder, byte)
  return utf8.reduce((word, part, index) => word | (part << (8 * index)), utf8.length << 24)
}

/**
 * Returns the UTF-8 bytes of a Windows code page's byte. The platform decodes unassigned bytes as control characters;
 * this function treats them as invalid.
 */
function characterOf(decoder: TextDecoder, byte: number): Uint8Array {
  try {
    const character = decoder.decode(Uint8Array.of(byte))
    const isUnassigned = decoder.encoding.startsWith('windows') && character < '\u00a0'
    return isUnassigned ? Uint8Array.of(invalidByte) : Buffer.from(character)
  } catch {
    return Uint8Array.of(invalidByte)
  }
}

/**
 * Decodes UTF-16 in either byte order. A lone surrogate becomes three bytes that UTF-8 forbids, and an odd last byte
 * becomes 0xFF, so that the record is rejected. Chunks without lone surrogates are decoded by the platform.
 */
class Utf16Decoder implements TextDecoderPort {
  readonly #swap: boolean
  #units = Buffer.allocUnsafeSlow(0)
  #out = Buffer.allocUnsafeSlow(0)
  /** The number of bytes at the end of the last chunk that belong to an incomplete code unit or surrogate pair. */
  #held = 0

  constructor(encoding: 'utf-16le' | 'utf-16be') {
    this.#swap = encoding === 'utf-16be'
  }

  decode(bytes: Buffer): Buffer {
    const length = this.#held + bytes.length
    if (this.#units.length < length) {
      const units = Buffer.allocUnsafeSlow(length + 4)
      this.#units.copy(units, 0, 0, this.#held)
      this.#units = units
      this.#out = Buffer.allocUnsafeSlow((length + 4) * 2)
    }
    const units = this.#units
    bytes.copy(units, this.#held)
    let end = length - (length % 2)
    const high = units[end - (this.#swap ? 2 : 1)]!
    if (end > 0 && (high & 0xfc) === 0xd8) end -= 2
    const convertedBytes = this.#convert(units.subarray(0, end))
    // The held bytes stay in the byte order of the file, so that they can precede the next chunk.
    units.copyWithin(0, end, length)
    this.#held = length - end
    return this.#out.subarray(0, convertedBytes)
  }

  end(): Buffer {
    const heldBytes = this.#held
    this.#held = 0
    let position = 0
    if (heldBytes >= 2) position = this.#convert(this.#units.subarray(0, 2))
    if (heldBytes % 2 === 1) this.#out[position++] = invalidByte
    return this.#out.subarray(0, position)
  }

  #convert(bytes: Buffer): number {
    if (bytes.length === 0) return 0
    if (this.#swap) bytes.swap16()
    const text = bytes.toString('utf16le')
    return text.isWellFormed() ? this.#out.write(text, 'utf8') : encodeKeepingLoneSurrogates(text, this.#out)
  }
}

/**
 * Writes a text as UTF-8, with each lone surrogate as the three bytes of its code point. Returns the number of bytes.
 * `Buffer.write` would write U+FFFD instead; that is valid UTF-8, so the changed text would be loaded.
 */
function encodeKeepingLoneSurrogates(text: string, out: Buffer): number {
  let position = 0
  for (const character of text) {
    const point = character.codePointAt(0)!
    if (point >= 0xd800 && point <= 0xdfff) {
      out[position++] = 0xe0 | (point >> 12)
      out[position++] = 0x80 | ((point >> 6) & 63)
      out[position++] = 0x80 | (point & 63)
    } else position += out.write(character, position, 'utf8')
  }
  return position
}

/**
 * Converts bytes of an encoding to UTF-8. Invalid input becomes bytes that UTF-8 forbids, never a replacement
 * character, so that its record is rejected. The result is valid until the next call.
 */
interface TextDecoderPort {
  decode(bytes: Buffer): Buffer
  end(): Buffer
}

/** A byte that never occurs in UTF-8. */
const invalidByte = 0xff
