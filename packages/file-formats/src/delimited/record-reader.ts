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
import { valueText } from './dialect/sample.ts'
import { readStrayQuotes } from './stray-quotes.ts'
import type { Utf8Reader } from './text-file.ts'

type RecordFault = 'RAGGED' | 'NOT_UTF8' | 'NUL_BYTE' | 'UNCLOSED_QUOTE' | 'TEXT_AFTER_QUOTE' | 'TOO_LONG'

const noMemory = Buffer.alloc(0)
/** The minimum bytes of a read. `Utf8Reader.read` requires at least 8. */
const minReadBytes = 8
/** A window with invalid UTF-8 is checked in pieces of this many bytes. */
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
  #end = 0
  #complete = false
  #lines = 0
  #skipping = false
  /** True if the window is known to be valid UTF-8. `#nul` is the position of its first NUL, or -1. */
  #clean = true
  #nul = -1

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
    this.line += this.#lines
    this.#lines = 0
    if (this.#skipping) this.#skipLine()
    for (;;) {
      if (this.from === this.#end) {
        this.next = this.from
        if (this.#complete) return false
        this.#fill()
        continue
      }
      const limit = this.from + this.#limits.recordBytes
      const end = limit < this.#end ? limit : this.#end
      const isComplete = this.#complete && end === this.#end
      const outcome = scanner.scan(this.bytes, this.from, end, isComplete)
      if (outcome === NEEDS_MORE) {
        if (this.#end > limit) return this.#giveUp('TOO_LONG', scanner.openQuote < 0 ? end - 1 : scanner.openQuote)
        this.#fill()
      } else if (outcome === TEXT_AFTER_QUOTE) {
        if (isComplete || this.#end > limit || afterLineEnd(this.bytes, scanner.openQuote, end, false) >= 0) {
          return this.#giveUp('TEXT_AFTER_QUOTE', scanner.openQuote)
        }
        this.#fill()
      } else if (outcome === COMMENT_LINE) {
        this.from = scanner.next
        this.line += scanner.lines
      } else if (outcome === UNCLOSED_QUOTE) {
        return this.#giveUp('UNCLOSED_QUOTE', scanner.openQuote)
      } else {
        if (
          scanner.count === 1 &&
          this.width + this.trailing !== 1 &&
          scanner.ends[0] === this.from &&
          scanner.marks[0]! < IS_QUOTED
        ) {
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
        this.#lines = scanner.lines
        this.#check()
        return true
      }
    }
  }

  #isRepeatedHeader(): boolean {
    const { scanner, bytes, grammar } = this
    const { repeatedHeader } = grammar
    if (!repeatedHeader || scanner.count !== repeatedHeader.length) return false
    const { starts, ends, marks } = scanner
    return repeatedHeader.every(
      (text, field) => text === valueText(bytes, starts[field]!, ends[field]!, marks[field]!, grammar),
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
  cleanEnd(): number {
    if (this.#skipping) return this.next
    if (this.#nul >= 0 && this.#nul < this.next) this.#nul = this.#indexOfNul(this.next)
    const end = this.#nul < 0 ? this.#wholeCharacters(this.#end) : this.#nul
    if (this.#clean || end <= this.next) return Math.max(end, this.next)
    const piece = this.#wholeCharacters(Math.min(end, this.next + pieceBytes))
    return isUtf8(this.bytes.subarray(this.next, piece)) ? piece : this.next
  }

  /** Skips to a position up to which the scanner has processed the records. They have `lines` line ends. */
  passOver(position: number, lines: number): void {
    this.line += this.#lines + lines
    this.#lines = 0
    this.from = position
    this.next = position
  }

  #check(): void {
    if (this.#nul >= 0) {
      if (this.#nul < this.from) this.#nul = this.#indexOfNul(this.from)
      if (this.#nul >= 0 && this.#nul < this.next) this.fault = 'NUL_BYTE'
    }
    if (this.fault) return
    if (!this.#clean && !isUtf8(this.bytes.subarray(this.from, this.next))) this.fault = 'NOT_UTF8'
    else if (this.width > 0 && !this.#fits()) this.fault = 'RAGGED'
  }

  #fits(): boolean {
    const { scanner, width, trailing } = this
    if (scanner.count !== width + trailing) return false
    for (let field = width; field < width + trailing; field++) {
      if (scanner.starts[field] !== scanner.ends[field] || scanner.marks[field]! >= IS_QUOTED) return false
    }
    scanner.count = width
    return true
  }

  /** Ends the record with a fault at the first line end after `position`. Reads more bytes if necessary. */
  #giveUp(fault: RecordFault, position: number): true {
    this.fault = fault
    const lineEnd = afterLineEnd(this.bytes, position, this.#end, this.#complete)
    this.#skipping = lineEnd < 0 && !this.#complete
    this.next = lineEnd < 0 ? this.#end : lineEnd
    // A CR at the end may be the first half of a CRLF, so it stays in the window.
    if (this.#skipping && this.bytes[this.next - 1] === 13) this.next--
    this.#lines = countLineEnds(this.bytes, this.from, this.next)
    if (this.grammar.readsStrayQuotes && fault !== 'TOO_LONG' && !this.#skipping) this.#readStrayQuotes()
    return true
  }

  /** Reads the record again as one with unescaped quotes inside its values. If that is possible, removes the fault. */
  #readStrayQuotes(): void {
    const fields = this.width + this.trailing
    const end = withoutLineEnd(this.bytes, this.from, this.next)
    if (fields === 0 || !readStrayQuotes(this.scanner, this.bytes, this.from, end, this.grammar, fields)) return
    this.fault = undefined
    this.#check()
  }

  #skipLine(): void {
    for (;;) {
      const lineEnd = afterLineEnd(this.bytes, this.from, this.#end, this.#complete)
      if (lineEnd >= 0 || this.#complete) {
        if (lineEnd >= 0) this.line++
        this.from = lineEnd < 0 ? this.#end : lineEnd
        this.#skipping = false
        return
      }
      const carriageReturnBytes = this.#end > this.from && this.bytes[this.#end - 1] === 13 ? 1 : 0
      this.from = this.#end - carriageReturnBytes
      this.#fill()
    }
  }

  /** Moves the remaining bytes of the window to its start and reads more after them. */
  #fill(): void {
    const heldBytes = this.#end - this.from
    const { readBytes } = this.#limits
    let size = this.bytes.length
    if (size > 4 * readBytes && heldBytes < readBytes) size = readBytes
    else if (heldBytes > size / 2) size *= 2
    while (size - heldBytes < minReadBytes) size *= 2
    if (size > this.#memory.length && this.#memory.length - heldBytes >= minReadBytes) size = this.#memory.length
    const window = size === this.bytes.length ? this.bytes : this.#allocate(size)
    // Source and target may overlap in memory, which copying supports.
    window.set(this.bytes.subarray(this.from, this.#end))
    this.bytes = window
    this.from = 0
    this.#end = heldBytes
    const bytesRead = this.#reader.read(window, heldBytes, size - heldBytes)
    this.#end += bytesRead
    this.#complete = bytesRead === 0
    this.#nul = this.#indexOfNul(0)
    this.#clean = isUtf8(window.subarray(0, this.#wholeCharacters(this.#end)))
    this.onRead?.()
  }

  #indexOfNul(from: number): number {
    return this.bytes.subarray(0, this.#end).indexOf(0, from)
  }

  #allocate(bytes: number): Buffer {
    return bytes <= this.#memory.length ? this.#memory.subarray(0, bytes) : Buffer.allocUnsafeSlow(bytes)
  }

  /** Returns `end`, moved back if it would cut a UTF-8 character. */
  #wholeCharacters(end: number): number {
    const { bytes } = this
    if (this.#complete && end === this.#end) return end
    for (let back = 1; back <= 3 && back <= end; back++) {
      const byte = bytes[end - back]!
      if (byte < 0x80) return end
      if (byte >= 0xc0) return end - back
    }
    return end
  }
}
