import { isUtf8 } from 'node:buffer'
import { type DelimitedGrammar, plainGrammar } from './dialect/dialect.ts'
import type { DelimitedLimits } from './limits.ts'
import {
  afterLineEnd,
  COMMENT_LINE,
  countLineEnds,
  NEEDS_MORE,
  IS_QUOTED,
  RecordScanner,
  TEXT_AFTER_QUOTE,
  UNCLOSED_QUOTE,
  withoutLineEnd,
} from './record-scanner.ts'
import { valueText } from './dialect/file-sample.ts'
import { readStrayQuotes } from './stray-quotes.ts'
import type { Utf8Reader } from './text-file.ts'

type RecordFault = 'RAGGED' | 'NOT_UTF8' | 'NUL_BYTE' | 'UNCLOSED_QUOTE' | 'TEXT_AFTER_QUOTE' | 'TOO_LONG'

const CR = 13

const noMemory = Buffer.alloc(0)
/** The minimum bytes of a read. `Utf8Reader.read` requires at least 8. */
const minReadBytes = 8
/** If the window is not valid UTF-8, only this many bytes of it are checked at a time. */
const pieceBytes = 8 * 1024

/**
 * Reads the records of a file one by one, in a window of bytes that grows with the longest record, up to the limit.
 *
 * A broken quote ends its record at the end of the line in which the quote opened, and reading continues after that
 * line. So a stray quote costs one line instead of the rest of the file.
 */
export class RecordReader {
  readonly grammar: DelimitedGrammar
  readonly scanner: RecordScanner
  bytes: Buffer
  /**
   * The current record: the position of its first byte, the position after its line end, and its physical line number.
   */
  from = 0
  next = 0
  line = 1
  fault: RecordFault | undefined
  /** The number of fields that every record must have; 0 until it is known. */
  width = 0
  /** The number of empty fields at the end of every record. They are dropped. */
  trailing = 0
  /** Called after each read from the file. */
  onRead: (() => void) | undefined
  readonly #reader: Utf8Reader
  readonly #limits: DelimitedLimits
  readonly #memory: Buffer
  /** The position after the last byte that was read into the window. */
  #end = 0
  /** True if the end of the file was reached, so that the window contains all remaining bytes. */
  #isFileRead = false
  /** The number of line ends in the current record. */
  #linesOfRecord = 0
  /** True if the rest of the line of a faulty record is not in the window yet and must be skipped. */
  #isSkippingLine = false
  /** True if the whole window is valid UTF-8. */
  #isWindowUtf8 = true
  /** The position of the first NUL that is not before the current record, or -1. */
  #nulPosition = -1

  /** Creates a reader. Uses `memory` as the window while it is large enough. */
  constructor(
    reader: Utf8Reader,
    grammar: DelimitedGrammar | number,
    limits: DelimitedLimits,
    memory: Buffer = noMemory,
  ) {
    this.#reader = reader
    this.#limits = limits
    this.#memory = memory
    this.grammar = typeof grammar === 'number' ? plainGrammar(grammar) : grammar
    this.scanner = new RecordScanner(this.grammar)
    this.bytes = this.#allocate(limits.readBytes)
  }

  /**
   * Moves to the next record. Returns false at the end. Skips blank lines, except in a file with one column, where they
   * are nulls.
   */
  advance(): boolean {
    const { scanner } = this
    this.fault = undefined
    this.from = this.next
    this.line += this.#linesOfRecord
    this.#linesOfRecord = 0
    if (this.#isSkippingLine) this.#skipLine()
    for (;;) {
      if (this.from === this.#end) {
        this.next = this.from
        if (this.#isFileRead) return false
        this.#readMore()
        continue
      }
      const limit = this.from + this.#limits.recordBytes
      const end = limit < this.#end ? limit : this.#end
      const isComplete = this.#isFileRead && end === this.#end
      const outcome = scanner.scan(this.bytes, this.from, end, isComplete)
      if (outcome === NEEDS_MORE) {
        if (this.#end > limit)
          return this.#endWithFault('TOO_LONG', scanner.openQuote < 0 ? end - 1 : scanner.openQuote)
        this.#readMore()
      } else if (outcome === TEXT_AFTER_QUOTE) {
        if (isComplete || this.#end > limit || afterLineEnd(this.bytes, scanner.openQuote, end, false) >= 0) {
          return this.#endWithFault('TEXT_AFTER_QUOTE', scanner.openQuote)
        }
        this.#readMore()
      } else if (outcome === COMMENT_LINE) {
        this.from = scanner.next
        this.line += scanner.lines
      } else if (outcome === UNCLOSED_QUOTE) {
        return this.#endWithFault('UNCLOSED_QUOTE', scanner.openQuote)
      } else {
        if (this.#isBlankLine()) {
          this.from = scanner.next
          this.line++
          continue
        }
        if (this.#isRepeatedHeader()) {
          this.from = scanner.next
          this.line += scanner.lines
          continue
        }
        this.next = scanner.next
        this.#linesOfRecord = scanner.lines
        this.#findFault()
        return true
      }
    }
  }

  /** True if the scanned record is a blank line. A blank line in a file with one column is a null instead. */
  #isBlankLine(): boolean {
    const { scanner, width, trailing } = this
    const isEmptyField = scanner.ends[0] === this.from && scanner.fieldFlags[0]! < IS_QUOTED
    return scanner.count === 1 && width + trailing !== 1 && isEmptyField
  }

  /** True if the scanned record has exactly the texts of the header. */
  #isRepeatedHeader(): boolean {
    const { scanner, bytes, grammar } = this
    const { repeatedHeader } = grammar
    if (!repeatedHeader || scanner.count !== repeatedHeader.length) return false
    const { starts, ends, fieldFlags } = scanner
    return repeatedHeader.every(
      (text, field) => text === valueText(bytes, starts[field]!, ends[field]!, fieldFlags[field]!, grammar),
    )
  }

  /** Returns the physical line number of a byte in the current record. */
  lineOf(position: number): number {
    return this.line + countLineEnds(this.bytes, this.from, position)
  }

  /**
   * Returns the end of the text after the current record that is known to be valid UTF-8 without NUL. Returns `next` if
   * no such text follows.
   */
  validTextEnd(): number {
    if (this.#isSkippingLine) return this.next
    if (this.#nulPosition >= 0 && this.#nulPosition < this.next) this.#nulPosition = this.#indexOfNul(this.next)
    const end = this.#nulPosition < 0 ? this.#endOfWholeCharacters(this.#end) : this.#nulPosition
    if (this.#isWindowUtf8 || end <= this.next) return Math.max(end, this.next)
    const pieceEnd = this.#endOfWholeCharacters(Math.min(end, this.next + pieceBytes))
    return isUtf8(this.bytes.subarray(this.next, pieceEnd)) ? pieceEnd : this.next
  }

  /** Skips to a position up to which the scanner has processed the records. They have `lines` line ends. */
  skipTo(position: number, lines: number): void {
    this.line += this.#linesOfRecord + lines
    this.#linesOfRecord = 0
    this.from = position
    this.next = position
  }

  /** Sets `fault` if the current record contains NUL or invalid UTF-8, or has a wrong number of fields. */
  #findFault(): void {
    if (this.#nulPosition >= 0) {
      if (this.#nulPosition < this.from) this.#nulPosition = this.#indexOfNul(this.from)
      if (this.#nulPosition >= 0 && this.#nulPosition < this.next) this.fault = 'NUL_BYTE'
    }
    if (this.fault) return
    if (!this.#isWindowUtf8 && !isUtf8(this.bytes.subarray(this.from, this.next))) this.fault = 'NOT_UTF8'
    else if (this.width > 0 && !this.#dropTrailingFields()) this.fault = 'RAGGED'
  }

  /**
   * True if the current record has the expected number of fields and those from trailing delimiters are empty. Then
   * removes the latter from the scanner's fields.
   */
  #dropTrailingFields(): boolean {
    const { scanner, width, trailing } = this
    if (scanner.count !== width + trailing) return false
    for (let field = width; field < width + trailing; field++) {
      if (scanner.starts[field] !== scanner.ends[field] || scanner.fieldFlags[field]! >= IS_QUOTED) return false
    }
    scanner.count = width
    return true
  }

  /**
   * Ends the record with a fault at the first line end after `position`. If that line end is not in the window, the
   * next `advance` skips the rest of the line. May read the record again as one with stray quotes, without a fault.
   * Returns true, as `advance` does.
   */
  #endWithFault(fault: RecordFault, position: number): true {
    this.fault = fault
    const lineEnd = afterLineEnd(this.bytes, position, this.#end, this.#isFileRead)
    this.#isSkippingLine = lineEnd < 0 && !this.#isFileRead
    this.next = lineEnd < 0 ? this.#end : lineEnd
    // A CR at the end may be the first half of a CRLF, so it stays in the window.
    if (this.#isSkippingLine && this.bytes[this.next - 1] === CR) this.next--
    this.#linesOfRecord = countLineEnds(this.bytes, this.from, this.next)
    if (this.grammar.readsStrayQuotes && fault !== 'TOO_LONG' && !this.#isSkippingLine) this.#readStrayQuotes()
    return true
  }

  /** Reads the record again as one with unescaped quotes inside its values. If that is possible, removes the fault. */
  #readStrayQuotes(): void {
    const fieldCount = this.width + this.trailing
    if (fieldCount === 0) return
    const end = withoutLineEnd(this.bytes, this.from, this.next)
    if (!readStrayQuotes(this.scanner, this.bytes, this.from, end, this.grammar, fieldCount)) return
    this.fault = undefined
    this.#findFault()
  }

  /** Skips the rest of a line that does not end in the window. Reads more bytes until the line ends. */
  #skipLine(): void {
    for (;;) {
      const lineEnd = afterLineEnd(this.bytes, this.from, this.#end, this.#isFileRead)
      if (lineEnd >= 0 || this.#isFileRead) {
        if (lineEnd >= 0) this.line++
        this.from = lineEnd < 0 ? this.#end : lineEnd
        this.#isSkippingLine = false
        return
      }
      // A CR at the end may be the first half of a CRLF.
      const endsWithCr = this.#end > this.from && this.bytes[this.#end - 1] === CR
      this.from = endsWithCr ? this.#end - 1 : this.#end
      this.#readMore()
    }
  }

  /**
   * Moves the remaining bytes of the window to its start and reads more after them. Enlarges the window for a long
   * record, and makes it smaller afterwards.
   */
  #readMore(): void {
    const remainingBytes = this.#end - this.from
    const { readBytes } = this.#limits
    let size = this.bytes.length
    if (size > 4 * readBytes && remainingBytes < readBytes) size = readBytes
    else if (remainingBytes > size / 2) size *= 2
    while (size - remainingBytes < minReadBytes) size *= 2
    const isMemoryLargeEnough = this.#memory.length - remainingBytes >= minReadBytes
    if (size > this.#memory.length && isMemoryLargeEnough) size = this.#memory.length
    const window = size === this.bytes.length ? this.bytes : this.#allocate(size)
    // Source and target may overlap in memory, which copying supports.
    window.set(this.bytes.subarray(this.from, this.#end))
    this.bytes = window
    this.from = 0
    this.#end = remainingBytes
    const bytesRead = this.#reader.read(window, remainingBytes, size - remainingBytes)
    this.#end += bytesRead
    this.#isFileRead = bytesRead === 0
    this.#nulPosition = this.#indexOfNul(0)
    this.#isWindowUtf8 = isUtf8(window.subarray(0, this.#endOfWholeCharacters(this.#end)))
    this.onRead?.()
  }

  #indexOfNul(from: number): number {
    return this.bytes.subarray(0, this.#end).indexOf(0, from)
  }

  /** Returns a window of this size: the start of `#memory` if it is large enough, otherwise new memory. */
  #allocate(bytes: number): Buffer {
    return bytes <= this.#memory.length ? this.#memory.subarray(0, bytes) : Buffer.allocUnsafeSlow(bytes)
  }

  /** Returns `end`, or the start of the last UTF-8 character before it if that one may be incomplete. */
  #endOfWholeCharacters(end: number): number {
    const { bytes } = this
    if (this.#isFileRead && end === this.#end) return end
    for (let back = 1; back <= 3 && back <= end; back++) {
      const byte = bytes[end - back]!
      const isAscii = byte < 0x80
      const startsCharacter = byte >= 0xc0
      if (isAscii) return end
      if (startsCharacter) return end - back
    }
    return end
  }
}
