import { isUtf8 } from 'node:buffer'

/**
 * Additional bytes of the buffer beyond a full chunk, so that the last row of a chunk rarely requires a larger buffer.
 */
const chunkSlackBytes = 64 * 1024
/** The maximum size of a value in its stored form, in bytes. */
export const maxValueBytes = 16 * 1024 * 1024
/** The maximum size of a row, in bytes. */
export const maxRowBytes = 64 * 1024 * 1024
const shortText = 48

export interface TupleBufferOptions {
  /** A chunk is full at this size in bytes. Its last row may exceed it. */
  chunkBytes?: number
  /** Returns a buffer for reuse, or undefined if none is available. */
  reuse?: () => ArrayBuffer | undefined
}

/** Builds rows in PostgreSQL's binary COPY format, in a sequence of chunks. `at` is the position of the next byte. */
export class TupleBuffer {
  bytes!: Buffer<ArrayBuffer>
  view!: DataView<ArrayBuffer>
  at = 0
  readonly #chunkBytes: number
  readonly #reuse: () => ArrayBuffer | undefined
  #row = 0

  constructor({ chunkBytes = 512 * 1024, reuse = () => undefined }: TupleBufferOptions = {}) {
    this.#chunkBytes = chunkBytes
    this.#reuse = reuse
    this.#begin()
  }

  get full(): boolean {
    return this.at >= this.#chunkBytes
  }

  /** Starts a row. The caller writes all its bytes, including the number of fields. */
  beginTuple(): void {
    this.#row = this.at
  }

  /** Starts a row and writes the number of its fields. */
  beginRow(fields: number): void {
    this.beginTuple()
    this.reserve(2)
    this.view.setInt16(this.at, fields)
    this.at += 2
  }

  /** Removes the incomplete last row. */
  dropRow(): void {
    this.at = this.#row
  }

  /** Ensures space for this many more bytes. Throws `UnstorableValue` if the row becomes too long. */
  reserve(bytes: number): void {
    if (this.at + bytes <= this.bytes.length) return
    if (this.at + bytes - this.#row > maxRowBytes) throw new UnstorableValue(rowTooLong)
    const larger = Buffer.allocUnsafeSlow(Math.max(this.bytes.length * 2, this.at + bytes + chunkSlackBytes))
    this.bytes.copy(larger, 0, 0, this.at)
    this.#use(larger)
  }

  /** Returns the index of the first field in the current row that is longer than `maxValueBytes`, or -1. */
  findLongValue(): number {
    if (this.at - this.#row <= maxValueBytes) return -1
    let at = this.#row + 2
    for (let field = 0; at + 4 <= this.at; field++) {
      const length = this.view.getInt32(at)
      if (length > maxValueBytes) return field
      at += 4 + Math.max(0, length)
    }
    return -1
  }

  /** True if the current row has this number of fields, and their lengths add up to the written bytes. */
  isWholeRow(fields: number): boolean {
    const { bytes, at: end } = this
    let at = this.#row
    if (end - at < 2 || ((bytes[at]! << 8) | bytes[at + 1]!) !== fields) return false
    at += 2
    for (let field = 0; field < fields; field++) {
      if (at + 4 > end) return false
      const length = (bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!
      if (length < -1) return false
      at += length < 0 ? 4 : 4 + length
    }
    return at === end
  }

  writeNull(): void {
    this.reserve(4)
    this.view.setInt32(this.at, -1)
    this.at += 4
  }

  /** Writes a text field. Throws `UnstorableValue` if PostgreSQL could not store it. */
  writeText(text: string): void {
    const { length } = text
    // A UTF-16 code unit takes at most three bytes in UTF-8. The exact size is only computed if the buffer might be too
    // small.
    if (this.at + 4 + length * 3 > this.bytes.length) this.reserve(4 + checkValueBytes(Buffer.byteLength(text)))
    const { bytes, view, at } = this
    if (length <= shortText) {
      let target = at + 4
      let index = 0
      for (; index < length; index++) {
        const code = text.charCodeAt(index)
        if (code - 1 >= 0x7f || code === 0) break
        bytes[target++] = code
      }
      if (index === length) {
        view.setInt32(at, length)
        this.at = target
        return
      }
    }
    if (text.includes('\0')) throw createNulError()
    if (!text.isWellFormed()) throw new UnstorableValue('holds half a character (a lone surrogate)')
    const writtenBytes = checkValueBytes(bytes.write(text, at + 4, 'utf8'))
    view.setInt32(at, writtenBytes)
    this.at = at + 4 + writtenBytes
  }

  /**
   * Writes a text field from UTF-8 bytes in `source`. Throws `UnstorableValue` if they are not valid UTF-8 or contain
   * NUL.
   */
  writeUtf8(source: Uint8Array, from: number, to: number): void {
    const length = checkValueBytes(to - from)
    this.reserve(4 + length)
    const { bytes, at } = this
    this.view.setInt32(at, length)
    this.at = at + 4 + length
    if (length > shortText) {
      const text = source.subarray(from, to)
      if (text.includes(0)) throw createNulError()
      if (!isUtf8(text)) throw new UnstorableValue('is not valid UTF-8')
      bytes.set(text, at + 4)
      return
    }
    let combinedBits = 0
    for (let index = from, target = at + 4; index < to; index++) {
      const byte = source[index]!
      if (byte === 0) throw createNulError()
      combinedBits |= byte
      bytes[target++] = byte
    }
    if (combinedBits > 0x7f && !isUtf8(source.subarray(from, to))) throw new UnstorableValue('is not valid UTF-8')
  }

  /** Writes bytes as the text that PostgreSQL shows for `bytea`: `\x` and two hexadecimal digits per byte. */
  writeHex(source: Uint8Array): void {
    const length = checkValueBytes(2 + source.length * 2)
    this.reserve(4 + length)
    const { bytes, view, at } = this
    view.setInt32(at, length)
    bytes[at + 4] = 0x5c
    bytes[at + 5] = 0x78
    const digits = Buffer.from(source.buffer, source.byteOffset, source.length).toString('hex')
    bytes.write(digits, at + 6, 'latin1')
    this.at = at + 6 + digits.length
  }

  /** Returns all complete rows since the last call. The caller owns their memory; later rows use another buffer. */
  take(): Uint8Array<ArrayBuffer> {
    const tupleBytes = this.bytes.subarray(0, this.at)
    this.#begin()
    return tupleBytes
  }

  #begin(): void {
    const size = this.#chunkBytes + chunkSlackBytes
    const used = this.#reuse()
    this.#use(used?.byteLength === size ? Buffer.from(used) : Buffer.allocUnsafeSlow(size))
    this.at = 0
    this.#row = 0
  }

  #use(bytes: Buffer<ArrayBuffer>): void {
    this.bytes = bytes
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  }
}

/** Returns its argument, the size of a value in bytes. Throws `UnstorableValue` if it exceeds `maxValueBytes`. */
export function checkValueBytes(bytes: number): number {
  if (bytes > maxValueBytes) throw new UnstorableValue(valueTooLong)
  return bytes
}

const formatMegabytes = (bytes: number): string => `${bytes / 1024 ** 2} MB`

export const valueTooLong = `is longer than ${formatMegabytes(maxValueBytes)}`
export const rowTooLong = `makes the row longer than ${formatMegabytes(maxRowBytes)}`

const createNulError = () => new UnstorableValue('holds a NUL character, which text in the warehouse cannot')

/**
 * Thrown for a value that does not fit its column. The message is a clause that follows the column's name: "holds a NUL
 * character, …".
 */
export class UnstorableValue extends Error {
  override readonly name = 'UnstorableValue'
}
