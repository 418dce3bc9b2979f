import { isUtf8 } from 'node:buffer'
import { readSync } from 'node:fs'
import { SourceProblem } from '@sluice/row-stream'
import { BadXml, pointOf, type XmlHandler, type XmlScanner } from './xml-scanner.ts'
import type { UploadLimits } from '../spool/upload-limits.ts'
import { type ScratchFiles, writeSpool } from '../spool/spool-file.ts'

const pageBytes = 256 * 1024
/** The alignment of a stored text, so that positions fit 32 bits. A text is stored after its length. */
const textAlignment = 4
const placesBlock = 64 * 1024

/**
 * The texts that a workbook's cells share, by number. They are stored in pages. Pages beyond the memory limit are moved
 * to a file and loaded on demand. This is fast, because most cells refer to texts in the order of their numbers.
 */
export class SharedTexts {
  count = 0
  /** The page with the text that `find` found. `from` is the text's position in it. */
  page: Buffer = Buffer.alloc(0)
  from = 0
  to = 0
  readonly #places: Uint32Array[] = []
  readonly #pages = new Map<number, Buffer>()
  readonly #scratch: ScratchFiles
  readonly #limits: UploadLimits
  readonly #name: string
  #last: Buffer = Buffer.allocUnsafeSlow(pageBytes)
  #lastNumber = 0
  #at = 0
  #file: number | undefined

  constructor(name: string, scratch: ScratchFiles, limits: UploadLimits) {
    this.#name = name
    this.#scratch = scratch
    this.#limits = limits
  }

  /** Adds a text. Throws SourceProblem EXCEL_TOO_MANY_TEXTS, EXCEL_DAMAGED or DISK_FULL. */
  add(text: Buffer, length: number): void {
    const { texts } = this.#limits
    if (this.count >= texts) {
      throw new SourceProblem(
        'EXCEL_TOO_MANY_TEXTS',
        `${this.#name} has more than ${texts} different texts; save it as CSV.`,
      )
    }
    if (length + textAlignment > pageBytes) {
      throw new SourceProblem(
        'EXCEL_DAMAGED',
        `${this.#name} has a text that is longer than a cell can hold. Save the workbook again.`,
      )
    }
    if (this.#at + textAlignment + length > pageBytes) this.#turnPage()
    if (this.count % placesBlock === 0) this.#places.push(new Uint32Array(placesBlock))
    this.#places.at(-1)![this.count % placesBlock] = (this.#lastNumber * pageBytes + this.#at) / textAlignment
    this.#last.writeUInt32LE(length, this.#at)
    text.copy(this.#last, this.#at + textAlignment, 0, length)
    this.#at = Math.ceil((this.#at + textAlignment + length) / textAlignment) * textAlignment
    this.count++
  }

  /** Finds a text and sets `page` and its position. Returns false if the text does not exist. */
  find(index: number): boolean {
    if (!(index >= 0 && index < this.count)) return false
    const offset = this.#places[Math.floor(index / placesBlock)]![index % placesBlock]! * textAlignment
    this.page = this.#pageOf(Math.floor(offset / pageBytes))
    this.from = (offset % pageBytes) + textAlignment
    this.to = this.from + this.page.readUInt32LE(this.from - textAlignment)
    return true
  }

  #turnPage(): void {
    this.#pages.set(this.#lastNumber, this.#last)
    if (this.#file !== undefined) this.#save(this.#lastNumber, this.#last)
    this.#evict()
    this.#last = Buffer.allocUnsafeSlow(pageBytes)
    this.#lastNumber++
    this.#at = 0
  }

  #pageOf(number: number): Buffer {
    if (number === this.#lastNumber) return this.#last
    const cachedPage = this.#pages.get(number)
    if (cachedPage) return cachedPage
    const page = Buffer.allocUnsafeSlow(pageBytes)
    readSync(this.#file!, page, 0, pageBytes, number * pageBytes)
    this.#pages.set(number, page)
    this.#evict()
    return page
  }

  /** Removes the oldest page from memory if the limit is exceeded. */
  #evict(): void {
    if (this.#pages.size * pageBytes <= this.#limits.textBytes) return
    if (this.#file === undefined) {
      this.#file = this.#scratch.open()
      for (const [number, page] of this.#pages) this.#save(number, page)
    }
    const [oldest] = this.#pages.keys()
    this.#pages.delete(oldest!)
  }

  #save(number: number, page: Buffer): void {
    writeSpool(this.#file!, page, number * pageBytes)
  }
}

const longestText = 1024 * 1024

/** Stores the shared texts of a workbook. Skips formatting and phonetic text. */
export class TextReader implements XmlHandler {
  readonly #texts: SharedTexts
  readonly #text = new CellText(longestText)
  #spoken = false
  #listening = false

  constructor(texts: SharedTexts) {
    this.#texts = texts
  }

  open(xml: XmlScanner): void {
    if (xml.is('t')) this.#listening = !this.#spoken
    else if (xml.is('si')) this.#text.clear()
    else if (xml.is('rPh')) this.#spoken = true
  }

  close(xml: XmlScanner): void {
    if (xml.is('t')) this.#listening = false
    else if (xml.is('si')) this.#texts.add(this.#text.bytes, this.#text.length)
    else if (xml.is('rPh')) this.#spoken = false
  }

  text(xml: XmlScanner, from: number, to: number, literal: boolean): void {
    if (this.#listening) this.#text.add(xml.bytes, from, to, literal)
  }
}

const QUOTE = 34
const AMPERSAND = 38
const SEMICOLON = 59
const UNDERSCORE = 95
const CR = 13
const LF = 10

/** The text of one cell, assembled from pieces of XML as UTF-8 with doubled quotes. */
export class CellText {
  bytes = Buffer.allocUnsafeSlow(1024)
  length = 0
  readonly #longest: number

  /** Creates a text. `longest` is its maximum length in bytes. */
  constructor(maxBytes: number) {
    this.#longest = maxBytes
  }

  clear(): void {
    this.length = 0
  }

  /** Appends a piece of XML text. Throws BadXml if it is invalid. */
  add(xml: Buffer, from: number, to: number, isLiteral: boolean): void {
    this.#reserve(2 * (to - from))
    const target = this.bytes
    let position = this.length
    let combinedBits = 0
    for (let i = from; i < to; i++) {
      const byte = xml[i]!
      combinedBits |= byte
      if (byte === QUOTE) target[position++] = QUOTE
      if (byte === AMPERSAND && !isLiteral) {
        const end = xml.subarray(i, Math.min(to, i + 12)).indexOf(SEMICOLON)
        if (end < 0) throw new BadXml('an ampersand is not written as &amp;')
        position = writeCodePoint(pointOf(xml.toString('latin1', i + 1, i + end)), target, position)
        i += end
      } else if (byte === UNDERSCORE && escapedAt(xml, i, to) > 0) {
        position = writeCodePoint(escapedAt(xml, i, to), target, position)
        i += 6
      } else if (byte === CR) {
        // XML parsers normalise all line ends to LF.
        if (xml[i + 1] !== LF || i + 1 === to) target[position++] = LF
      } else if (byte < 32 && byte !== LF && byte !== 9) throw new BadXml('it holds control characters')
      else target[position++] = byte
    }
    if (combinedBits > 127 && !isUtf8(xml.subarray(from, to))) throw new BadXml('it is not valid UTF-8')
    this.length = position
  }

  #reserve(addedBytes: number): void {
    const neededBytes = this.length + addedBytes
    if (this.length > this.#longest) throw new BadXml('a text in it is too long')
    if (neededBytes <= this.bytes.length) return
    const bytes = Buffer.allocUnsafeSlow(neededBytes * 2)
    this.bytes.copy(bytes, 0, 0, this.length)
    this.bytes = bytes
  }
}

/**
 * Returns the character that Excel writes as `_xHHHH_`, because XML cannot contain it, or 0. NUL and halves of
 * surrogate pairs stay as written, because databases cannot store them.
 */
function escapedAt(xml: Buffer, position: number, to: number): number {
  if (position + 7 > to || (xml[position + 1]! | 32) !== 120 || xml[position + 6] !== UNDERSCORE) return 0
  const digits = xml.toString('latin1', position + 2, position + 6)
  if (!/^[0-9a-f]{4}$/i.test(digits)) return 0
  const point = Number.parseInt(digits, 16)
  return (point & 0xf800) === 0xd800 ? 0 : point
}

function writeCodePoint(point: number, out: Buffer, start: number): number {
  let position = start
  if (point === QUOTE) out[position++] = QUOTE
  return position + out.write(String.fromCodePoint(point), position, 'utf8')
}
