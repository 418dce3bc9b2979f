import type { SourceProblem } from '@sluice/row-stream'
import { brokenJson, type ByteWindow, endsTooEarly, tooLong } from './byte-window.ts'
import {
  afterSpace,
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
      window.from = afterSpace(window.bytes, window.from, window.end)
      if (window.from < window.end) return window.bytes[window.from]
      if (!(await window.grow())) return undefined
    }
  }

  async expect(byte: number): Promise<void> {
    const nextByte = await this.peek()
    if (nextByte === undefined) throw endsTooEarly(this.name, this.window.place(this.window.end))
    if (nextByte !== byte) throw this.broken(`${String.fromCharCode(byte)} is expected`, this.window.from)
    this.window.from++
  }

  /** Reads a key and the colon after it. Returns the key. */
  async key(): Promise<string> {
    await this.peek()
    const { window } = this
    const keyEnd = await this.#whole((from, end) => jsonScanner.key(from, end))
    const closed = jsonScanner.string(window.from, window.end)
    const key = JSON.parse(window.bytes.toString('utf8', window.from, closed)) as string
    window.from = keyEnd
    return key
  }

  /** Skips a value. Returns the value's first byte, and the first byte after the value and white space. */
  async skipValue(): Promise<[number, number]> {
    await this.peek()
    const { window } = this
    const valueEnd = await this.#whole((from, end) => jsonScanner.value(from, end))
    const { bytes, from, end } = window
    window.from = valueEnd
    return [bytes[from]!, bytes[afterSpace(bytes, from + 1, end)]!]
  }

  /** Skips a value that is too long for memory. Only its quotes and brackets are parsed. */
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
        const isEnd = depth === 0 && !isText && (byte === QUOTE || byte === CLOSE_OBJECT || byte === CLOSE_ARRAY)
        // A number or literal ends before a comma, a bracket or white space.
        const isPastEnd = depth < 0 || (depth === 0 && !isText && (byte === COMMA || isSpace(byte)))
        if (!isEnd && !isPastEnd) continue
        window.from = isEnd ? position + 1 : position
        return
      }
      window.from = end
      if (!(await window.grow())) throw endsTooEarly(this.name, window.place(window.end))
    }
  }

  /**
   * Reads more of a token that starts at the window's start. Throws SourceProblem if the token is too long or the
   * stream ends.
   */
  async more(): Promise<void> {
    const { window } = this
    if (window.end - window.from > this.recordBytes) {
      throw tooLong(this.name, this.recordBytes, window.place(window.from))
    }
    if (!(await window.grow())) throw endsTooEarly(this.name, window.place(window.end))
  }

  broken(fault: string, position: number): SourceProblem {
    return brokenJson(this.name, fault, this.window.place(position))
  }

  async #whole(scan: (from: number, end: number) => number): Promise<number> {
    for (;;) {
      const scanEnd = scan(this.window.from, this.window.end)
      if (scanEnd === INVALID_JSON) throw this.broken(jsonScanner.fault, jsonScanner.faultAt)
      if (scanEnd !== NEEDS_MORE) return scanEnd
      await this.more()
    }
  }
}
