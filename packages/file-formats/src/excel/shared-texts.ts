import { readSync, writeSync } from 'node:fs'
import { SourceProblem } from '@sluice/row-stream'
import { type ScratchFiles, diskProblem } from '../spool/spool-file.ts'
import type { UploadLimits } from '../spool/limits.ts'
import { CellText } from './cell-text.ts'
import type { XmlHandler, XmlScanner } from './xml-scanner.ts'

const pageBytes = 256 * 1024
/** Alignment of a text, which begins with its length, so that positions fit 32 bits. */
const step = 4
const placesBlock = 64 * 1024

/**
 * The texts that a workbook's cells share, by number. They are kept in pages. If the pages exceed the memory limit, they
 * are moved to a file and loaded on demand. Most cells refer to the texts in the order of their numbers.
 */
export class SharedTexts {
  count = 0
  /** The page of the text that `find` found. */
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

  /** Throws SourceProblem EXCEL_TOO_MANY_TEXTS, EXCEL_DAMAGED or DISK_FULL. */
  add(text: Buffer, length: number): void {
    const { texts } = this.#limits
    if (this.count >= texts) {
      throw new SourceProblem(
        'EXCEL_TOO_MANY_TEXTS',
        `${this.#name} has more than ${texts} different texts; save it as CSV.`,
      )
    }
    if (length + step > pageBytes) {
      throw new SourceProblem(
        'EXCEL_DAMAGED',
        `${this.#name} has a text that is longer than a cell can hold; save it anew.`,
      )
    }
    if (this.#at + step + length > pageBytes) this.#turnPage()
    if (this.count % placesBlock === 0) this.#places.push(new Uint32Array(placesBlock))
    this.#places.at(-1)![this.count % placesBlock] = (this.#lastNumber * pageBytes + this.#at) / step
    this.#last.writeUInt32LE(length, this.#at)
    text.copy(this.#last, this.#at + step, 0, length)
    this.#at = Math.ceil((this.#at + step + length) / step) * step
    this.count++
  }

  /** Returns false if the text does not exist. */
  find(index: number): boolean {
    if (!(index >= 0 && index < this.count)) return false
    const place = this.#places[Math.floor(index / placesBlock)]![index % placesBlock]! * step
    this.page = this.#pageOf(Math.floor(place / pageBytes))
    this.from = (place % pageBytes) + step
    this.to = this.from + this.page.readUInt32LE(this.from - step)
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
    const held = this.#pages.get(number)
    if (held) return held
    const page = Buffer.allocUnsafeSlow(pageBytes)
    readSync(this.#file!, page, 0, pageBytes, number * pageBytes)
    this.#pages.set(number, page)
    this.#evict()
    return page
  }

  /** Evicts the oldest page. */
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
    try {
      for (let done = 0; done < pageBytes; ) {
        done += writeSync(this.#file!, page, done, pageBytes - done, number * pageBytes + done)
      }
    } catch (error) {
      throw diskProblem(error) ?? error
    }
  }
}

const longestText = 1024 * 1024

/** Stores the texts of a workbook. It skips formatting and phonetic text. */
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
