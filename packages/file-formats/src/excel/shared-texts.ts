import { isUtf8 } from 'node:buffer'
import { readSync } from 'node:fs'
import { SourceProblem } from '@sluice/row-stream'
import { BadXml, codePointOfEntity, type XmlHandler, type XmlScanner } from './xml-scanner.ts'
import type { UploadLimits } from '../spool/upload-limits.ts'
import { type ScratchFiles, writeSpool } from '../spool/spool-file.ts'

/** The bytes of a page, and thus nearly the maximum length of a text. */
const pageBytes = 256 * 1024
/** The alignment of a stored text, so that positions fit 32 bits. A text is stored after its length. */
const textAlignment = 4
/** The number of text positions that are allocated at a time. */
const offsetsPerBlock = 64 * 1024

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
  /** The positions of all texts, counted from the start of the first page in units of `textAlignment`. */
  readonly #offsetBlocks: Uint32Array[] = []
  /** The full pages in memory by number, the one that was loaded first at the start. */
  readonly #fullPages = new Map<number, Buffer>()
  readonly #scratch: ScratchFiles
  readonly #limits: UploadLimits
  readonly #name: string
  /** The page to which texts are added, its number, and the bytes in use. */
  #lastPage: Buffer = Buffer.allocUnsafeSlow(pageBytes)
  #lastPageNumber = 0
  #lastPageLength = 0
  /** The descriptor of the file with all full pages. Undefined while they all fit into memory. */
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
    if (this.#lastPageLength + textAlignment + length > pageBytes) this.#startNewPage()
    if (this.count % offsetsPerBlock === 0) this.#offsetBlocks.push(new Uint32Array(offsetsPerBlock))
    this.#offsetBlocks.at(-1)![this.count % offsetsPerBlock] =
      (this.#lastPageNumber * pageBytes + this.#lastPageLength) / textAlignment
    this.#lastPage.writeUInt32LE(length, this.#lastPageLength)
    text.copy(this.#lastPage, this.#lastPageLength + textAlignment, 0, length)
    this.#lastPageLength = Math.ceil((this.#lastPageLength + textAlignment + length) / textAlignment) * textAlignment
    this.count++
  }

  /** Finds the text with a number and sets `page`, `from` and `to`. Returns false if the text does not exist. */
  find(index: number): boolean {
    if (!(index >= 0 && index < this.count)) return false
    const offset = this.#offsetBlocks[Math.floor(index / offsetsPerBlock)]![index % offsetsPerBlock]! * textAlignment
    this.page = this.#loadPage(Math.floor(offset / pageBytes))
    this.from = (offset % pageBytes) + textAlignment
    this.to = this.from + this.page.readUInt32LE(this.from - textAlignment)
    return true
  }

  /** Adds the last page to the full pages and starts a new one. */
  #startNewPage(): void {
    this.#fullPages.set(this.#lastPageNumber, this.#lastPage)
    if (this.#file !== undefined) this.#save(this.#lastPageNumber, this.#lastPage)
    this.#limitMemory()
    this.#lastPage = Buffer.allocUnsafeSlow(pageBytes)
    this.#lastPageNumber++
    this.#lastPageLength = 0
  }

  /** Returns a page. Reads it from the file if it is not in memory. */
  #loadPage(number: number): Buffer {
    if (number === this.#lastPageNumber) return this.#lastPage
    const cachedPage = this.#fullPages.get(number)
    if (cachedPage) return cachedPage
    const page = Buffer.allocUnsafeSlow(pageBytes)
    readSync(this.#file!, page, 0, pageBytes, number * pageBytes)
    this.#fullPages.set(number, page)
    this.#limitMemory()
    return page
  }

  /**
   * Removes the page that was loaded first from memory if the limit is exceeded. The first time, writes all full pages
   * to a file before.
   */
  #limitMemory(): void {
    if (this.#fullPages.size * pageBytes <= this.#limits.textBytes) return
    if (this.#file === undefined) {
      this.#file = this.#scratch.open()
      for (const [number, page] of this.#fullPages) this.#save(number, page)
    }
    const [oldestNumber] = this.#fullPages.keys()
    this.#fullPages.delete(oldestNumber!)
  }

  #save(number: number, page: Buffer): void {
    writeSpool(this.#file!, page, number * pageBytes)
  }
}

const maxTextBytes = 1024 * 1024

/** Reads the part of a workbook with the shared texts, and stores them. Skips formatting and phonetic text. */
export class TextReader implements XmlHandler {
  readonly #texts: SharedTexts
  readonly #text = new CellText(maxTextBytes)
  #isInPhoneticText = false
  #isInText = false

  constructor(texts: SharedTexts) {
    this.#texts = texts
  }

  open(xml: XmlScanner): void {
    if (xml.is('t')) this.#isInText = !this.#isInPhoneticText
    else if (xml.is('si')) this.#text.clear()
    else if (xml.is('rPh')) this.#isInPhoneticText = true
  }

  close(xml: XmlScanner): void {
    if (xml.is('t')) this.#isInText = false
    else if (xml.is('si')) this.#texts.add(this.#text.bytes, this.#text.length)
    else if (xml.is('rPh')) this.#isInPhoneticText = false
  }

  text(xml: XmlScanner, from: number, to: number, literal: boolean): void {
    if (this.#isInText) this.#text.add(xml.bytes, from, to, literal)
  }
}

const QUOTE = 34
const AMPERSAND = 38
const SEMICOLON = 59
const UNDERSCORE = 95
const CR = 13
const LF = 10
const TAB = 9

/** The maximum length of an entity, with `&` and `;`. */
const maxEntityLength = 12
/** The length of an escaped character, `_xHHHH_`. */
const escapeLength = 7

/** The text of one cell, assembled from pieces of XML as UTF-8 with doubled quotes. */
export class CellText {
  bytes = Buffer.allocUnsafeSlow(1024)
  length = 0
  readonly #maxBytes: number

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  clear(): void {
    this.length = 0
  }

  /**
   * Appends a piece of XML text. Replaces entities and escaped characters unless it is literal. Throws BadXml if it is
   * invalid or the text becomes too long.
   */
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
        const entityLength = xml.subarray(i, Math.min(to, i + maxEntityLength)).indexOf(SEMICOLON)
        if (entityLength < 0) throw new BadXml('an ampersand is not written as &amp;')
        const entity = xml.toString('latin1', i + 1, i + entityLength)
        position = writeCodePoint(codePointOfEntity(entity), target, position)
        i += entityLength
      } else if (byte === UNDERSCORE && escapedCodePoint(xml, i, to) > 0) {
        position = writeCodePoint(escapedCodePoint(xml, i, to), target, position)
        i += escapeLength - 1
      } else if (byte === CR) {
        // XML parsers normalise all line ends to LF.
        const isCrlf = xml[i + 1] === LF && i + 1 < to
        if (!isCrlf) target[position++] = LF
      } else if (byte < 32 && byte !== LF && byte !== TAB) throw new BadXml('it holds control characters')
      else target[position++] = byte
    }
    const isAscii = combinedBits < 128
    if (!isAscii && !isUtf8(xml.subarray(from, to))) throw new BadXml('it is not valid UTF-8')
    this.length = position
  }

  /** Enlarges the buffer if it has no space for more bytes. Throws BadXml if the text is too long. */
  #reserve(addedBytes: number): void {
    const neededBytes = this.length + addedBytes
    if (this.length > this.#maxBytes) throw new BadXml('a text in it is too long')
    if (neededBytes <= this.bytes.length) return
    const bytes = Buffer.allocUnsafeSlow(neededBytes * 2)
    this.bytes.copy(bytes, 0, 0, this.length)
    this.bytes = bytes
  }
}

/**
 * Returns the code point of a character that Excel writes as `_xHHHH_`, because XML cannot contain it. Returns 0 if
 * no such character is at `position`. Also returns 0 for NUL and halves of surrogate pairs, which databases
 * cannot store; these stay as they are written.
 */
function escapedCodePoint(xml: Buffer, position: number, to: number): number {
  // A quick test, because underscores are frequent.
  if (position + escapeLength > to || xml[position + escapeLength - 1] !== UNDERSCORE) return 0
  const text = xml.toString('latin1', position, position + escapeLength)
  const digits = /^_x([0-9a-f]{4})_$/i.exec(text)?.[1]
  if (digits === undefined) return 0
  const codePoint = Number.parseInt(digits, 16)
  const isSurrogate = (codePoint & 0xf800) === 0xd800
  return isSurrogate ? 0 : codePoint
}

/** Writes a character as UTF-8, and a quote doubled. Returns the position after it. */
function writeCodePoint(codePoint: number, out: Buffer, start: number): number {
  let position = start
  if (codePoint === QUOTE) out[position++] = QUOTE
  return position + out.write(String.fromCodePoint(codePoint), position, 'utf8')
}
