import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { SourceProblem } from '@sluice/row-stream'

export type TextEncodingName = 'UTF-8' | 'UTF-16LE' | 'UTF-16BE'

const unsupportedEncodings: Record<string, string> = {
  ENOENT: 'no longer exists on the server; upload it again',
  EACCES: 'may not be read by the service; an operator must correct the permissions of the upload folder',
  EPERM: 'may not be read by the service; an operator must correct the permissions of the upload folder',
  EISDIR: 'is a folder, not a file',
}

/** A text whose bytes can be read at any position, more than once. */
export interface TextSource {
  /** The name for messages. */
  readonly name: string
  readonly size: number
  readonly encoding: TextEncodingName
  /** Bytes of the byte order mark. */
  readonly skip: number
  /** Copies at most `length` bytes from `position` to `at` in the buffer. Returns their number; 0 at the end. */
  read(into: Uint8Array, at: number, length: number, position: number): number
  /** Throws SourceProblem FILE_CHANGED if the file changed since it was opened. */
  assertUnchanged(): void
}

/** A file that stays open during all passes, so that a file that replaces it is never mixed into it. */
export class TextFile implements TextSource, Disposable {
  readonly name: string
  readonly size: number
  readonly encoding: TextEncodingName
  readonly skip: number
  readonly #descriptor: number
  /** A given descriptor is closed by the caller. */
  readonly #own: boolean
  readonly #modified: bigint

  /**
   * Opens a path, or uses an open descriptor. Throws SourceProblem FILE_NOT_FOUND, FILE_NOT_READABLE, NOT_CSV or
   * ENCODING_NOT_SUPPORTED.
   */
  constructor(path: string | number, name: string) {
    this.name = name
    this.#own = typeof path === 'string'
    let start: Uint8Array = new Uint8Array(64)
    try {
      this.#descriptor = typeof path === 'string' ? openSync(path, 'r') : path
      const stat = fstatSync(this.#descriptor, { bigint: true })
      this.size = Number(stat.size)
      this.#modified = stat.mtimeNs
      start = start.subarray(0, readSync(this.#descriptor, start, 0, start.length, 0))
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code ?? ''
      const why = unsupportedEncodings[code] ?? `cannot be read (${code})`
      throw new SourceProblem(code === 'ENOENT' ? 'FILE_NOT_FOUND' : 'FILE_NOT_READABLE', `${name} ${why}.`, {
        cause: error,
      })
    }
    const { encoding, skip } = detectEncoding(start, name)
    this.encoding = encoding
    this.skip = skip
  }

  read(into: Uint8Array, at: number, length: number, position: number): number {
    return length === 0 ? 0 : readSync(this.#descriptor, into, at, length, position)
  }

  assertUnchanged(): void {
    const { size, mtimeNs } = fstatSync(this.#descriptor, { bigint: true })
    if (Number(size) === this.size && mtimeNs === this.#modified) return
    throw new SourceProblem('FILE_CHANGED', `${this.name} changed while it was being read; run the load again.`)
  }

  [Symbol.dispose](): void {
    if (this.#own) closeSync(this.#descriptor)
  }
}

function detectEncoding(start: Uint8Array, name: string): { encoding: TextEncodingName; skip: number } {
  const [a, b, c, d] = start
  const notCsv = (kind: string) => new SourceProblem('NOT_CSV', `${name} is ${kind}, not a CSV file; export it as CSV.`)
  if (a === 0x50 && b === 0x4b && c === 3 && d === 4) throw notCsv('an Excel workbook or a ZIP archive')
  if (a === 0xd0 && b === 0xcf && c === 0x11 && d === 0xe0) throw notCsv('an old Excel workbook')
  if (a === 0x1f && b === 0x8b) throw notCsv('compressed with gzip')
  if (a === 0x50 && b === 0x41 && c === 0x52 && d === 0x31) throw notCsv('a Parquet file')
  const text = Buffer.from(start).toString('latin1').replace(/^ï»¿/, '')
  if (text.startsWith('%PDF')) throw notCsv('a PDF document')
  if (/^\s*<(!doctype|html|\?xml)/i.test(text)) throw notCsv('a web page or another XML document')
  if (/^\s*(\[\s*)?\{\s*"/.test(text)) throw notCsv('JSON')
  if (a === 0xef && b === 0xbb && c === 0xbf) return { encoding: 'UTF-8', skip: 3 }
  if ((a === 0xff && b === 0xfe && c === 0 && d === 0) || (a === 0 && b === 0 && c === 0xfe && d === 0xff)) {
    throw new SourceProblem('ENCODING_NOT_SUPPORTED', `${name} is encoded as UTF-32; save it as UTF-8.`)
  }
  if (a === 0xff && b === 0xfe) return { encoding: 'UTF-16LE', skip: 2 }
  if (a === 0xfe && b === 0xff) return { encoding: 'UTF-16BE', skip: 2 }
  return { encoding: 'UTF-8', skip: 0 }
}

/** Reads a file as a stream of UTF-8, after its byte order mark. */
export interface Utf8Reader {
  /** The number of bytes read from the file. */
  readonly position: number
  /** Copies at most `maxBytes` (at least 8) bytes to `at`. Returns 0 at the end of the file. */
  read(into: Uint8Array, at: number, maxBytes: number): number
}

export function utf8Reader(file: TextSource): Utf8Reader {
  return file.encoding === 'UTF-8' ? new PlainReader(file) : new Utf16Reader(file)
}

class PlainReader implements Utf8Reader {
  position: number
  readonly #file: TextSource

  constructor(file: TextSource) {
    this.#file = file
    this.position = file.skip
  }

  read(into: Uint8Array, at: number, maxBytes: number): number {
    const bytes = this.#file.read(into, at, maxBytes, this.position)
    this.position += bytes
    return bytes
  }
}

/**
 * A lone surrogate becomes the three bytes that UTF-8 forbids, and half a code unit becomes 0xFF. So text that is invalid in UTF-16 is
 * invalid in UTF-8 too, and its record is rejected.
 */
class Utf16Reader implements Utf8Reader {
  position: number
  readonly #file: TextSource
  readonly #high: number
  #units = new Uint8Array(64 * 1024)
  /** A high surrogate whose low surrogate was not read yet, or 0. */
  #surrogate = 0

  constructor(file: TextSource) {
    this.#file = file
    this.position = file.skip
    this.#high = file.encoding === 'UTF-16LE' ? 1 : 0
  }

  read(into: Uint8Array, at: number, maxBytes: number): number {
    const units = this.#units
    // A unit becomes at most three bytes, and a surrogate of the last read may precede them.
    const wanted = Math.min(units.length, Math.floor((maxBytes - 3) / 3) * 2)
    let bytes = 0
    while (bytes < wanted) {
      const got = this.#file.read(units, bytes, wanted - bytes, this.position)
      if (got === 0) break
      bytes += got
      this.position += got
    }
    let out = at
    for (let i = 0; i + 1 < bytes; i += 2) {
      const unit = (units[i + this.#high]! << 8) | units[i + 1 - this.#high]!
      if (this.#surrogate !== 0) {
        if ((unit & 0xfc00) === 0xdc00) {
          const point = 0x10000 + ((this.#surrogate & 0x3ff) << 10) + (unit & 0x3ff)
          into[out++] = 0xf0 | (point >> 18)
          into[out++] = 0x80 | ((point >> 12) & 63)
          into[out++] = 0x80 | ((point >> 6) & 63)
          into[out++] = 0x80 | (point & 63)
          this.#surrogate = 0
          continue
        }
        out = this.#flushSurrogate(into, out)
      }
      if ((unit & 0xfc00) === 0xd800) this.#surrogate = unit
      else out = putUnit(into, out, unit)
    }
    if (bytes < wanted) {
      out = this.#flushSurrogate(into, out)
      if (bytes % 2 === 1) into[out++] = 0xff
    }
    // A read can consist of one high surrogate, which produces no output yet.
    return out === at && bytes === wanted ? this.read(into, at, maxBytes) : out - at
  }

  #flushSurrogate(into: Uint8Array, out: number): number {
    if (this.#surrogate === 0) return out
    const unit = this.#surrogate
    this.#surrogate = 0
    return putUnit(into, out, unit)
  }
}

function putUnit(into: Uint8Array, at: number, unit: number): number {
  if (unit < 0x80) {
    into[at] = unit
    return at + 1
  }
  if (unit < 0x800) {
    into[at] = 0xc0 | (unit >> 6)
    into[at + 1] = 0x80 | (unit & 63)
    return at + 2
  }
  into[at] = 0xe0 | (unit >> 12)
  into[at + 1] = 0x80 | ((unit >> 6) & 63)
  into[at + 2] = 0x80 | (unit & 63)
  return at + 3
}

/** The first byte that is not part of a character, as `byte 0xE9`; the last one where all are. */
export function badByte(bytes: Uint8Array, from: number, next: number): string {
  let at = from
  while (at < next) {
    const length = characterLength(bytes, at, next)
    if (length === 0) break
    at += length
  }
  return `byte 0x${bytes[Math.min(at, next - 1)]!.toString(16).toUpperCase().padStart(2, '0')}`
}

/** Bytes of the well-formed character at `at`, or 0: table 3-7 of the Unicode standard. */
function characterLength(bytes: Uint8Array, at: number, end: number): number {
  const lead = bytes[at]!
  if (lead < 0x80) return 1
  const length = lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0
  if (length === 0 || at + length > end) return 0
  const second = bytes[at + 1]!
  const low = lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80
  const high = lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf
  if (second < low || second > high) return 0
  for (let i = 2; i < length; i++) if ((bytes[at + i]! & 0xc0) !== 0x80) return 0
  return length
}
