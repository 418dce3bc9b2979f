import type { SourceProblem } from '@sluice/row-stream'
import { invalidJsonProblem, type ByteWindow, truncatedJsonProblem, longValueProblem } from './byte-window.ts'
import {
  skipSpace,
  BACKSLASH,
  INVALID_JSON,
  COMMA,
  isSpace,
  jsonScanner,
  NEEDS_MORE,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
} from './json-scanner.ts'

const CLOSE_ARRAY = 93
const CLOSE_OBJECT = 125

/**
 * A position in a JSON document. It moves only over whole tokens and values, and reads more bytes when it needs them.
 */
export class JsonCursor {
  readonly window: ByteWindow
  readonly name: string
  readonly recordBytes: number

  constructor(window: ByteWindow, name: string, recordBytes: number) {
    this.window = window
    this.name = name
    this.recordBytes = recordBytes
  }

  /** Returns the next byte that is not white space without consuming it, or undefined at the end. */
  async peek(): Promise<number | undefined> {
    const { window } = this
    for (;;) {
      window.from = skipSpace(window.bytes, window.from, window.end)
      if (window.from < window.end) return window.bytes[window.from]
      if (!(await window.grow())) return undefined
    }
  }

  /** Reads white space and this byte. Throws SourceProblem JSON_BROKEN for anything else. */
  async expect(byte: number): Promise<void> {
    const nextByte = await this.peek()
    if (nextByte === undefined) throw truncatedJsonProblem(this.name, this.window.locate(this.window.end))
    if (nextByte !== byte) throw this.syntaxProblem(`${String.fromCharCode(byte)} is expected`, this.window.from)
    this.window.from++
  }

  /** Reads a key and the colon after it. Returns the key. */
  async readKey(): Promise<string> {
    await this.peek()
    const { window } = this
    const colonEnd = await this.#scanWhole((from, end) => jsonScanner.key(from, end))
    const keyEnd = jsonScanner.string(window.from, window.end)
    const key = JSON.parse(window.bytes.toString('utf8', window.from, keyEnd)) as string
    window.from = colonEnd
    return key
  }

  /** Skips a value. Returns the value's first byte, and its second byte that is not white space. */
  async skipValue(): Promise<[number, number]> {
    await this.peek()
    const { window } = this
    const valueEnd = await this.#scanWhole((from, end) => jsonScanner.value(from, end))
    const { bytes, from, end } = window
    window.from = valueEnd
    return [bytes[from]!, bytes[skipSpace(bytes, from + 1, end)]!]
  }

  /** Skips a value that is too long for memory. Examines only its quotes and brackets. */
  async skipLongValue(): Promise<void> {
    const { window } = this
    let depth = 0
    let isText = false
    let isEscaped = false
    for (;;) {
      const { bytes, end } = window
      for (let position = window.from; position < end; position++) {
        const byte = bytes[position]!
        if (isEscaped) isEscaped = false
        else if (isText && byte === BACKSLASH) isEscaped = true
        else if (byte === QUOTE) isText = !isText
        else if (isText) continue
        else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) depth++
        else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) depth--
        const isOutside = depth === 0 && !isText
        const isLastByte = isOutside && (byte === QUOTE || byte === CLOSE_OBJECT || byte === CLOSE_ARRAY)
        // A number or literal ends before a comma, a bracket or white space.
        const isAfterValue = depth < 0 || (isOutside && (byte === COMMA || isSpace(byte)))
        if (!isLastByte && !isAfterValue) continue
        window.from = isLastByte ? position + 1 : position
        return
      }
      window.from = end
      if (!(await window.grow())) throw truncatedJsonProblem(this.name, window.locate(window.end))
    }
  }

  /**
   * Reads more of the value that starts at the window's start. Throws SourceProblem if it is too long or the text ends.
   */
  async readMore(): Promise<void> {
    const { window } = this
    if (window.end - window.from > this.recordBytes) {
      throw longValueProblem(this.name, this.recordBytes, window.locate(window.from))
    }
    if (!(await window.grow())) throw truncatedJsonProblem(this.name, window.locate(window.end))
  }

  /** Returns the problem for a syntax error at a position of the window. */
  syntaxProblem(fault: string, position: number): SourceProblem {
    return invalidJsonProblem(this.name, fault, this.window.locate(position))
  }

  /** Scans a token, and reads more bytes until the window contains all of it. Returns the position after it. */
  async #scanWhole(scan: (from: number, end: number) => number): Promise<number> {
    for (;;) {
      const scanEnd = scan(this.window.from, this.window.end)
      if (scanEnd === INVALID_JSON) throw this.syntaxProblem(jsonScanner.fault, jsonScanner.faultAt)
      if (scanEnd !== NEEDS_MORE) return scanEnd
      await this.readMore()
    }
  }
}
