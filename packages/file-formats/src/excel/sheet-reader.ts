import { maxColumns } from '@sluice/row-stream'
import { CellText, type SharedTexts } from './shared-texts.ts'
import { type NumberMeaning, formatSerialNumber } from './serial-dates.ts'
import { BadXml, type XmlHandler, type XmlScanner } from './xml-scanner.ts'
import type { RowOutput } from '../spool/rejected-rows-file.ts'

/** The letters of the attributes of a cell: its reference `r`, style `s` and type `t`. */
const REFERENCE_LETTER = 114
const STYLE_LETTER = 115
const TYPE_LETTER = 116
/** Types of cells: the letters `n`, `s`, `b`, `d` and `e`. A cell without a type is a number. */
const NUMBER_TYPE = 110
const SHARED_TEXT_TYPE = 115
const BOOLEAN_TYPE = 98
const DATE_TYPE = 100
const ERROR_TYPE = 101
const ONE = 49
const LETTER_T = 116
const maxTextBytes = 1024 * 1024
const booleanWords = { true: Buffer.from('true'), false: Buffer.from('false') }

export interface SheetContext {
  texts: SharedTexts
  meanings: readonly NumberMeaning[]
  is1904: boolean
}

/**
 * Receives a sheet's cells and passes their values to a `SheetRow`. Errors such as #N/A and empty texts count as no
 * value.
 */
export class SheetReader implements XmlHandler {
  readonly #row: SheetRow
  readonly #context: SheetContext
  readonly #text = new CellText(maxTextBytes)
  #rowNumber = 0
  #column = -1
  #isInCell = false
  #isInValue = false
  #isInPhoneticText = false
  #typeLetter = NUMBER_TYPE
  /** The type of the cell if it is a word instead of a letter. */
  #typeName = ''
  #style = 0

  constructor(row: SheetRow, context: SheetContext) {
    this.#row = row
    this.#context = context
  }

  open(xml: XmlScanner): void {
    const length = xml.nameTo - xml.nameFrom
    if (length === 1) {
      if (xml.is('c')) this.#openCell(xml)
      else if (this.#isInCell && (xml.is('v') || xml.is('t'))) this.#isInValue = !this.#isInPhoneticText
    } else if (length === 3) {
      if (xml.is('row')) this.#openRow(xml)
      else if (xml.is('rPh')) this.#isInPhoneticText = true
    }
  }

  close(xml: XmlScanner): void {
    const length = xml.nameTo - xml.nameFrom
    if (length === 1) {
      if (xml.is('c')) this.#closeCell()
      else if (xml.is('v') || xml.is('t')) this.#isInValue = false
    } else if (length === 3) {
      if (xml.is('row')) this.#row.end(this.#rowNumber)
      else if (xml.is('rPh')) this.#isInPhoneticText = false
    }
  }

  text(xml: XmlScanner, from: number, to: number, literal: boolean): void {
    if (this.#isInValue) this.#text.add(xml.bytes, from, to, literal)
  }

  #openRow(xml: XmlScanner): void {
    const rowNumber = Number(xml.attribute('r') ?? this.#rowNumber + 1)
    if (!(rowNumber > this.#rowNumber)) throw new BadXml('its rows are not in order')
    this.#rowNumber = rowNumber
    this.#column = -1
    this.#row.begin()
  }

  #openCell(xml: XmlScanner): void {
    const { bytes, attributePositions } = xml
    this.#isInCell = true
    this.#typeLetter = NUMBER_TYPE
    this.#typeName = ''
    this.#style = 0
    this.#text.clear()
    let column = this.#column + 1
    const count = xml.findAttributes()
    for (let i = 0; i < count * 4; i += 4) {
      const nameLength = attributePositions[i + 1]! - attributePositions[i]!
      if (nameLength !== 1) continue
      const letter = bytes[attributePositions[i]!]!
      const from = attributePositions[i + 2]!
      const to = attributePositions[i + 3]!
      if (letter === REFERENCE_LETTER) column = parseColumnReference(bytes, from, to)
      else if (letter === STYLE_LETTER) this.#style = parseDigits(bytes, from, to)
      else if (letter !== TYPE_LETTER) continue
      else if (to - from === 1) this.#typeLetter = bytes[from]!
      else this.#typeName = bytes.toString('latin1', from, to)
    }
    if (column <= this.#column) throw new BadXml('the cells of a row are not in order')
    this.#column = column
  }

  /** Passes the value of the cell to the row. Cells without a value and errors such as #N/A are left out. */
  #closeCell(): void {
    const { bytes, length } = this.#text
    this.#isInCell = false
    this.#isInValue = false
    if (length === 0) return
    if (this.#typeName !== '') return this.#putTypedText(bytes, length)
    const type = this.#typeLetter
    if (type === SHARED_TEXT_TYPE) this.#putSharedText(bytes, length)
    else if (type === NUMBER_TYPE) this.#putNumber(bytes, length)
    else if (type === BOOLEAN_TYPE) {
      const isTrue = bytes[0] === ONE || bytes[0] === LETTER_T
      const word = isTrue ? booleanWords.true : booleanWords.false
      this.#row.put(this.#column, word, 0, word.length, false)
    } else if (type === DATE_TYPE) this.#row.put(this.#column, bytes, 0, length, true)
    else if (type !== ERROR_TYPE) throw unknownType(String.fromCharCode(type))
  }

  #putTypedText(bytes: Buffer, length: number): void {
    const typeName = this.#typeName
    if (typeName !== 'inlineStr' && typeName !== 'str') throw unknownType(typeName)
    this.#row.put(this.#column, bytes, 0, length, true)
  }

  #putSharedText(bytes: Buffer, length: number): void {
    const { texts } = this.#context
    if (!texts.find(parseDigits(bytes, 0, length)))
      throw new BadXml('a cell refers to a shared text that does not exist')
    if (texts.to > texts.from) this.#row.put(this.#column, texts.page, texts.from, texts.to, true)
  }

  /** Adds a number, or the date or time that it means in the number format of the cell. */
  #putNumber(bytes: Buffer, length: number): void {
    const { meanings, is1904 } = this.#context
    const meaning = meanings[this.#style] ?? 'NUMBER'
    if (meaning !== 'NUMBER') {
      const wholeNumber = parseDigits(bytes, 0, length)
      const serial = wholeNumber < 0 ? Number(bytes.toString('latin1', 0, length)) : wholeNumber
      const dateText = formatSerialNumber(serial, meaning, is1904)
      if (dateText !== undefined) {
        return this.#row.put(this.#column, bytes, 0, bytes.write(dateText, 'latin1'), false)
      }
    }
    let [from, to] = [0, length]
    while (from < to && bytes[from]! <= 32) from++
    while (to > from && bytes[to - 1]! <= 32) to--
    // If the text is not a number, quotes keep it in one field.
    if (from < to) this.#row.put(this.#column, bytes, from, to, !isPlainNumber(bytes, from, to))
  }
}

const unknownType = (type: string): BadXml => new BadXml(`a cell is of the unknown type ${type.slice(0, 20)}`)

/** Returns the column of a reference such as `AB12`, from 0. Throws BadXml if it names none of Excel's columns. */
function parseColumnReference(bytes: Buffer, from: number, to: number): number {
  let column = 0
  let position = from
  for (; position < to && position < from + 4; position++) {
    const capitalLetter = bytes[position]! & 0xdf
    if (capitalLetter < LETTER_A || capitalLetter > LETTER_Z) break
    column = column * 26 + capitalLetter - LETTER_A + 1
  }
  if (column === 0 || column > maxExcelColumns) throw new BadXml('a cell has no proper reference')
  return column - 1
}

const [LETTER_A, LETTER_Z] = [65, 90]
const maxExcelColumns = 16_384

/** Returns a non-negative integer, or -1 if the bytes are not only digits or the number is too large. */
function parseDigits(bytes: Buffer, from: number, to: number): number {
  let number = 0
  for (let position = from; position < to; position++) {
    const digit = bytes[position]! - 48
    if (digit < 0 || digit > 9 || number > 1e9) return -1
    number = number * 10 + digit
  }
  return number
}

/** True if the bytes are only digits, signs, a decimal point and an exponent, so that a field needs no quotes. */
function isPlainNumber(bytes: Buffer, from: number, to: number): boolean {
  for (let position = from; position < to; position++) {
    const byte = bytes[position]!
    const isDigit = byte >= 48 && byte <= 57
    const isPartOfNumber = isDigit || byte === POINT || byte === MINUS || byte === PLUS || (byte | 32) === LETTER_E
    if (!isPartOfNumber) return false
  }
  return true
}

const [PLUS, MINUS, POINT, LETTER_E] = [43, 45, 46, 101]

const QUOTE = 34
const COMMA = 44
const LF = 10

/**
 * The current row of a sheet, written as a line of delimited text. The line has the columns from `first` to `last`,
 * which were derived from the start of the sheet. A cell with a value outside this range widens the range, and the
 * sheet must then be read again.
 */
export class SheetRow {
  /** The range of used columns, from 0. The range is empty while `first` exceeds `last`. */
  first: number
  last: number
  /** True if a cell outside the range was found while rows were written, so that all rows must be written again. */
  mustReadAgain = false
  /** The number of rows with values. */
  rows = 0
  readonly #output: RowOutput | undefined
  readonly #maxRowBytes: number
  #line = Buffer.allocUnsafeSlow(64 * 1024)
  #lineLength = 0
  /** The index of the line's last column that is written, from 0. */
  #column = 0

  /** If `output` is absent, the row only determines the range of columns. */
  constructor({ first, last }: { first: number; last: number }, maxRowBytes: number, output?: RowOutput) {
    this.first = first
    this.last = last
    this.#maxRowBytes = maxRowBytes
    this.#output = output
  }

  get width(): number {
    return this.last - this.first + 1
  }

  get isTooWide(): boolean {
    return this.width > maxColumns
  }

  /** Starts a new row. */
  begin(): void {
    this.#lineLength = 0
    this.#column = 0
  }

  /** Adds a cell's value. The cell's column must be after those of all earlier cells in this row. */
  put(column: number, bytes: Uint8Array, from: number, to: number, isQuoted: boolean): void {
    if (column < this.first || column > this.last) this.#widen(column)
    if (this.mustReadAgain || !this.#output) return
    this.#reserve(to - from + column + 4)
    let position = this.#lineLength
    for (; this.#column < column - this.first; this.#column++) this.#line[position++] = COMMA
    if (isQuoted) this.#line[position++] = QUOTE
    for (let i = from; i < to; i++) this.#line[position++] = bytes[i]!
    if (isQuoted) this.#line[position++] = QUOTE
    this.#lineLength = position
  }

  /** Writes the row unless it is empty. `number` is the row's number in the sheet. */
  end(number: number): void {
    if (this.#lineLength === 0 || this.mustReadAgain || !this.#output) return
    const { writer, rejects } = this.#output
    this.rows++
    if (this.#lineLength > this.#maxRowBytes) {
      const reason = `is longer than ${Math.floor(this.#maxRowBytes / 1024 / 1024)} MB`
      return rejects.add(number, reason, this.#line.subarray(0, Math.min(this.#lineLength, 8192)))
    }
    const missingFields = this.width - 1 - this.#column
    this.#reserve(missingFields + 1)
    this.#line.fill(COMMA, this.#lineLength, this.#lineLength + missingFields)
    this.#line[this.#lineLength + missingFields] = LF
    writer.put(this.#line.subarray(0, this.#lineLength + missingFields + 1))
  }

  /** Widens the range of columns to a column. */
  #widen(column: number): void {
    if (this.#output) this.mustReadAgain = true
    if (this.first > this.last) this.first = this.last = column
    this.first = Math.min(this.first, column)
    this.last = Math.max(this.last, column)
  }

  /** Enlarges the line if it has no space for more bytes. */
  #reserve(addedBytes: number): void {
    if (this.#lineLength + addedBytes <= this.#line.length) return
    // The rest of a row that exceeds the maximum length is overwritten, because such a row is rejected.
    if (this.#lineLength > this.#maxRowBytes) this.#lineLength = this.#maxRowBytes + 1
    const line = Buffer.allocUnsafeSlow((this.#lineLength + addedBytes) * 2)
    this.#line.copy(line, 0, 0, this.#lineLength)
    this.#line = line
  }
}
