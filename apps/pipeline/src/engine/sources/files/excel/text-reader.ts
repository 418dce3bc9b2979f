import { CellText } from './cell-text.ts'
import type { SharedTexts } from './shared-texts.ts'
import type { XmlHandler, XmlScanner } from './xml-scanner.ts'

const longestText = 1024 * 1024

/** Puts the texts of a workbook into their store. Formatting is left out, and so is how a text is spoken. */
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
