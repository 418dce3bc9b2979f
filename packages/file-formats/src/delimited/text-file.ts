import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { SourceProblem } from '@sluice/row-stream'

const byteOrderMark = Buffer.from('\ufeff')

const openErrors: Record<string, string> = {
  ENOENT: 'no longer exists on the server; upload it again',
  EACCES: 'may not be read by the service; an operator must correct the permissions of the upload folder',
  EPERM: 'may not be read by the service; an operator must correct the permissions of the upload folder',
  EISDIR: 'is a folder, not a file',
}

/** A UTF-8 text with bytes that can be read repeatedly at any position. */
export interface TextSource {
  /** The name for messages. */
  readonly name: string
  readonly size: number
  /** The number of bytes of the byte order mark, which are skipped. */
  readonly skip: number
  /**
   * Copies at most `length` bytes from `position` of the file to `filePosition` of the buffer. Returns their number, or
   * 0 at the end.
   */
  read(target: Uint8Array, filePosition: number, length: number, position: number): number
  /** Throws SourceProblem FILE_CHANGED if the file changed since it was opened. */
  assertUnchanged(): void
}

/** A file that stays open during all passes. If another file replaces it, the two are never mixed. */
export class TextFile implements TextSource, Disposable {
  readonly name: string
  readonly size: number
  readonly skip: number
  readonly #descriptor: number
  /** True if this object opened the descriptor and must close it. */
  readonly #ownsDescriptor: boolean
  readonly #modified: bigint

  /** Opens a path, or uses an open descriptor. Throws SourceProblem FILE_NOT_FOUND or FILE_NOT_READABLE. */
  constructor(path: string | number, name: string) {
    this.name = name
    this.#ownsDescriptor = typeof path === 'string'
    try {
      this.#descriptor = typeof path === 'string' ? openSync(path, 'r') : path
      const stat = fstatSync(this.#descriptor, { bigint: true })
      this.size = Number(stat.size)
      this.#modified = stat.mtimeNs
      const firstBytes = Buffer.alloc(byteOrderMark.length)
      readSync(this.#descriptor, firstBytes, 0, firstBytes.length, 0)
      this.skip = firstBytes.equals(byteOrderMark) ? byteOrderMark.length : 0
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code ?? ''
      const reason = openErrors[code] ?? `cannot be read (${code})`
      throw new SourceProblem(code === 'ENOENT' ? 'FILE_NOT_FOUND' : 'FILE_NOT_READABLE', `${name} ${reason}.`, {
        cause: error,
      })
    }
  }

  read(target: Uint8Array, filePosition: number, length: number, position: number): number {
    return length === 0 ? 0 : readSync(this.#descriptor, target, filePosition, length, position)
  }

  assertUnchanged(): void {
    const { size, mtimeNs } = fstatSync(this.#descriptor, { bigint: true })
    if (Number(size) === this.size && mtimeNs === this.#modified) return
    throw new SourceProblem('FILE_CHANGED', `${this.name} changed while it was being read; run the load again.`)
  }

  [Symbol.dispose](): void {
    if (this.#ownsDescriptor) closeSync(this.#descriptor)
  }
}

/** Reads a UTF-8 text as a stream. */
export interface Utf8Reader {
  /** The number of bytes read from the file until now. */
  readonly position: number
  /** Copies at most `maxBytes` bytes (at least 8) to `position` of the buffer. Returns 0 at the end of the file. */
  read(target: Uint8Array, position: number, maxBytes: number): number
}

/**
 * Returns the first byte that is not part of a valid UTF-8 character, in the form `byte 0xE9`. Returns the last byte if
 * all characters are valid.
 */
export function describeInvalidByte(bytes: Uint8Array, from: number, next: number): string {
  let position = from
  while (position < next) {
    const length = characterLength(bytes, position, next)
    if (length === 0) break
    position += length
  }
  return `byte 0x${bytes[Math.min(position, next - 1)]!.toString(16).toUpperCase().padStart(2, '0')}`
}

/**
 * Returns the number of bytes of the well-formed UTF-8 character at `position` (table 3-7 of the Unicode standard), or
 * 0 if it is not well-formed.
 */
function characterLength(bytes: Uint8Array, position: number, end: number): number {
  const firstByte = bytes[position]!
  if (firstByte < 0x80) return 1
  const length = lengthByFirstByte(firstByte)
  if (length === 0 || position + length > end) return 0
  const secondByte = bytes[position + 1]!
  const [minSecondByte, maxSecondByte] = secondByteRanges[firstByte] ?? [0x80, 0xbf]
  if (secondByte < minSecondByte || secondByte > maxSecondByte) return 0
  for (let i = 2; i < length; i++) {
    const isContinuationByte = (bytes[position + i]! & 0xc0) === 0x80
    if (!isContinuationByte) return 0
  }
  return length
}

/** The ranges of the second byte after first bytes that do not allow all continuation bytes. */
const secondByteRanges: Record<number, [min: number, max: number]> = {
  0xe0: [0xa0, 0xbf],
  0xed: [0x80, 0x9f],
  0xf0: [0x90, 0xbf],
  0xf4: [0x80, 0x8f],
}

/**
 * Returns the number of bytes of a non-ASCII character by its first byte, or 0 if no character starts with this byte.
 */
function lengthByFirstByte(firstByte: number): number {
  if (firstByte < 0xc2) return 0
  if (firstByte < 0xe0) return 2
  if (firstByte < 0xf0) return 3
  return firstByte < 0xf5 ? 4 : 0
}
