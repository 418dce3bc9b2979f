import type { TextSource } from './text-file.ts'

/** Reads a file as a stream of UTF-8, after its byte order mark. */
export interface Utf8Reader {
  /** The number of bytes read from the file. */
  readonly position: number
  /** Copies at most `room` (at least 8) bytes to `at`. Returns 0 at the end of the file. */
  read(into: Uint8Array, at: number, room: number): number
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

  read(into: Uint8Array, at: number, room: number): number {
    const bytes = this.#file.read(into, at, room, this.position)
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

  read(into: Uint8Array, at: number, room: number): number {
    const units = this.#units
    // A unit becomes at most three bytes, and a surrogate of the last read may precede them.
    const wanted = Math.min(units.length, Math.floor((room - 3) / 3) * 2)
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
    return out === at && bytes === wanted ? this.read(into, at, room) : out - at
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
