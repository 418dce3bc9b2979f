import { isUtf8 } from 'node:buffer'
import { BadXml, pointOf } from './xml-scanner.ts'

const QUOTE = 34
const AMPERSAND = 38
const SEMICOLON = 59
const UNDERSCORE = 95
const CR = 13
const LF = 10

/** The text of one cell, assembled from pieces of XML: UTF-8 with doubled quotes. */
export class CellText {
  bytes = Buffer.allocUnsafeSlow(1024)
  length = 0
  readonly #longest: number

  /** `longest` is the maximum length of a text in bytes. */
  constructor(longest: number) {
    this.#longest = longest
  }

  clear(): void {
    this.length = 0
  }

  /** Throws BadXml for invalid XML text. */
  add(xml: Buffer, from: number, to: number, literal: boolean): void {
    this.#room(2 * (to - from))
    const out = this.bytes
    let at = this.length
    let ascii = 0
    for (let i = from; i < to; i++) {
      const byte = xml[i]!
      ascii |= byte
      if (byte === QUOTE) out[at++] = QUOTE
      if (byte === AMPERSAND && !literal) {
        const end = xml.subarray(i, Math.min(to, i + 12)).indexOf(SEMICOLON)
        if (end < 0) throw new BadXml('an ampersand is not written as &amp;')
        at = put(pointOf(xml.toString('latin1', i + 1, i + end)), out, at)
        i += end
      } else if (byte === UNDERSCORE && escapedAt(xml, i, to) > 0) {
        at = put(escapedAt(xml, i, to), out, at)
        i += 6
      } else if (byte === CR) {
        // XML parsers normalise all line ends to LF.
        if (xml[i + 1] !== LF || i + 1 === to) out[at++] = LF
      } else if (byte < 32 && byte !== LF && byte !== 9) throw new BadXml('it holds control characters')
      else out[at++] = byte
    }
    if (ascii > 127 && !isUtf8(xml.subarray(from, to))) throw new BadXml('it is not valid UTF-8')
    this.length = at
  }

  #room(more: number): void {
    const wanted = this.length + more
    if (this.length > this.#longest) throw new BadXml('a text in it is too long')
    if (wanted <= this.bytes.length) return
    const bytes = Buffer.allocUnsafeSlow(wanted * 2)
    this.bytes.copy(bytes, 0, 0, this.length)
    this.bytes = bytes
  }
}

/**
 * Returns the character that Excel writes as `_xHHHH_`, because XML cannot express it otherwise, or 0. NUL and halves of
 * surrogate pairs, which no database can store, stay as written.
 */
function escapedAt(xml: Buffer, at: number, to: number): number {
  if (at + 7 > to || (xml[at + 1]! | 32) !== 120 || xml[at + 6] !== UNDERSCORE) return 0
  const digits = xml.toString('latin1', at + 2, at + 6)
  if (!/^[0-9a-f]{4}$/i.test(digits)) return 0
  const point = Number.parseInt(digits, 16)
  return (point & 0xf800) === 0xd800 ? 0 : point
}

function put(point: number, out: Buffer, start: number): number {
  let at = start
  if (point === QUOTE) out[at++] = QUOTE
  return at + out.write(String.fromCodePoint(point), at, 'utf8')
}
