import type { ByteSource } from '../spool/byte-source.ts'
import type { TextEncoding } from './text-encoding.ts'
import { TextDecoder } from 'node:util'

const multiByteEncodings = /^(gbk|gb18030|big5|euc-jp|iso-2022-jp|shift_jis|euc-kr)$/

/** Returns the decoder for an encoding other than UTF-8. `encoding` is TextDecoder's name for it. */
export function createDecoder(encoding: string): TextDecoderPort {
  if (encoding === 'utf-16le' || encoding === 'utf-16be') return new Utf16Decoder(encoding)
  return multiByteEncodings.test(encoding) ? new MultiByteDecoder(encoding) : new SingleByteDecoder(encoding)
}

/** Yields a text converted to UTF-8, without its byte order mark. */
export function convertToUtf8(
  source: ByteSource,
  { encoding, skip }: Pick<TextEncoding, 'encoding' | 'skip'>,
): ByteSource {
  if (encoding === 'utf-8' && skip === 0) return source
  return { chunks: () => decodeChunks(source, encoding, skip) }
}

/** Yields the chunks of a text as UTF-8, without its first `skip` bytes. */
async function* decodeChunks(source: ByteSource, encoding: string, skip: number): AsyncGenerator<Buffer, void, void> {
  const decoder = encoding === 'utf-8' ? undefined : createDecoder(encoding)
  let bytesToSkip = skip
  for await (const chunk of source.chunks()) {
    const bytes = bytesToSkip === 0 ? chunk : chunk.subarray(bytesToSkip)
    bytesToSkip = Math.max(0, bytesToSkip - chunk.length)
    if (bytes.length > 0) yield decoder ? decoder.decode(bytes) : bytes
  }
  if (decoder) yield decoder.end()
}

const replacementCharacter = '\uFFFD'

/**
 * Decodes East Asian encodings with the platform's decoder. Replaces each U+FFFD, which stands for an invalid byte, by
 * a byte that is not valid UTF-8.
 */
class MultiByteDecoder implements TextDecoderPort {
  readonly #decoder: TextDecoder

  constructor(encoding: string) {
    this.#decoder = new TextDecoder(encoding, { fatal: false, ignoreBOM: true })
  }

  decode(bytes: Buffer): Buffer {
    return encodeWithInvalidBytes(this.#decoder.decode(bytes, { stream: true }))
  }

  end(): Buffer {
    return encodeWithInvalidBytes(this.#decoder.decode())
  }
}

/** Encodes a text as UTF-8. Each U+FFFD becomes a byte that never occurs in UTF-8. */
function encodeWithInvalidBytes(text: string): Buffer {
  if (!text.includes(replacementCharacter)) return Buffer.from(text)
  const [firstText, ...textsAfterInvalidByte] = text.split(replacementCharacter)
  const encodedTexts = textsAfterInvalidByte.flatMap((part) => [Buffer.of(invalidByte), Buffer.from(part)])
  return Buffer.concat([Buffer.from(firstText!), ...encodedTexts])
}

/** Decodes Latin and similar encodings, in which every byte is a character or invalid. */
class SingleByteDecoder implements TextDecoderPort {
  /**
   * The UTF-8 characters of the input bytes 0x80 to 0xFF: up to three bytes each, the first one lowest, and their
   * number in the highest byte.
   */
  readonly #packedCharacters: Int32Array
  #out = Buffer.allocUnsafeSlow(0)

  constructor(encoding: string) {
    const decoder = new TextDecoder(encoding, { fatal: true })
    this.#packedCharacters = Int32Array.from({ length: 128 }, (_, index) => packCharacter(decoder, index + 128))
  }

  decode(bytes: Buffer): Buffer {
    if (this.#out.length < bytes.length * 3) this.#out = Buffer.allocUnsafeSlow(bytes.length * 3)
    const out = this.#out
    const packedCharacters = this.#packedCharacters
    let position = 0
    for (let i = 0; i < bytes.length; i++) {
      const byte = bytes[i]!
      if (byte < 128) {
        out[position++] = byte
        continue
      }
      const character = packedCharacters[byte - 128]!
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

/**
 * Returns the UTF-8 bytes of an input byte in one number: the first byte lowest, and their number in the highest byte.
 */
function packCharacter(decoder: TextDecoder, byte: number): number {
  const utf8Bytes = decodeByte(decoder, byte)
  let packed = utf8Bytes.length << 24
  for (const [index, utf8Byte] of utf8Bytes.entries()) packed |= utf8Byte << (8 * index)
  return packed
}

/**
 * Returns the UTF-8 bytes of the character that a byte encodes, or `invalidByte` if it encodes none. The platform
 * decodes unassigned bytes of Windows code pages as control characters, so these count as invalid too.
 */
function decodeByte(decoder: TextDecoder, byte: number): Uint8Array {
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
  readonly #isBigEndian: boolean
  #units = Buffer.allocUnsafeSlow(0)
  #out = Buffer.allocUnsafeSlow(0)
  /**
   * The number of bytes at the end of the previous chunk that belong to an incomplete code unit or surrogate pair. They
   * are at the start of `#units`.
   */
  #incompleteBytes = 0

  constructor(encoding: 'utf-16le' | 'utf-16be') {
    this.#isBigEndian = encoding === 'utf-16be'
  }

  decode(bytes: Buffer): Buffer {
    const length = this.#incompleteBytes + bytes.length
    if (this.#units.length < length) {
      const units = Buffer.allocUnsafeSlow(length + 4)
      this.#units.copy(units, 0, 0, this.#incompleteBytes)
      this.#units = units
      this.#out = Buffer.allocUnsafeSlow((length + 4) * 2)
    }
    const units = this.#units
    bytes.copy(units, this.#incompleteBytes)
    let end = length - (length % 2)
    const highByteOfLastUnit = units[end - (this.#isBigEndian ? 2 : 1)]!
    const isHighSurrogate = (highByteOfLastUnit & 0xfc) === 0xd8
    if (end > 0 && isHighSurrogate) end -= 2
    const convertedBytes = this.#convert(units.subarray(0, end))
    // The incomplete bytes stay in the byte order of the file, so that they can precede the next chunk.
    units.copyWithin(0, end, length)
    this.#incompleteBytes = length - end
    return this.#out.subarray(0, convertedBytes)
  }

  end(): Buffer {
    const incompleteBytes = this.#incompleteBytes
    this.#incompleteBytes = 0
    let position = 0
    if (incompleteBytes >= 2) position = this.#convert(this.#units.subarray(0, 2))
    if (incompleteBytes % 2 === 1) this.#out[position++] = invalidByte
    return this.#out.subarray(0, position)
  }

  /** Writes code units as UTF-8 to `#out`. Returns the number of bytes written. */
  #convert(bytes: Buffer): number {
    if (bytes.length === 0) return 0
    if (this.#isBigEndian) bytes.swap16()
    const text = bytes.toString('utf16le')
    return text.isWellFormed() ? this.#out.write(text, 'utf8') : encodeKeepingLoneSurrogates(text, this.#out)
  }
}

/**
 * Writes a text as UTF-8, with each lone surrogate as three bytes that UTF-8 forbids. Returns the number of bytes
 * written. `Buffer.write` would write U+FFFD instead; that is valid UTF-8, so the changed text would be loaded.
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
