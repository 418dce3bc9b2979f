/** Results of a scan that are not positions: the available bytes end too early, or they are not JSON. */
export const NEEDS_MORE = -1
export const INVALID_JSON = -2

/** Bits of `marks`: properties of the values scanned since `marks` was cleared. */
export const HAS_ESCAPE = 1
/** U+0000, which no column can store, and half a surrogate pair, which is not a character. */
export const HAS_NUL = 2
export const HAS_LONE_SURROGATE = 4
/** A number that JSONB cannot store: PostgreSQL keeps 16,383 digits after the decimal point. */
export const HAS_HUGE_NUMBER = 8

export const QUOTE = 34
export const COMMA = 44
const COLON = 58
export const OPEN_ARRAY = 91
export const BACKSLASH = 92
export const OPEN_OBJECT = 123
const maxNestingDepth = 512
const longestNumber = 16_000
const exponentDigits = 4

export const isSpace = (byte: number) => byte === 32 || byte === 10 || byte === 13 || byte === 9
const isDigit = (byte: number | undefined) => byte !== undefined && byte >= 48 && byte <= 57

export function afterSpace(bytes: Uint8Array, from: number, end: number): number {
  let at = from
  while (at < end && isSpace(bytes[at]!)) at++
  return at
}

/**
 * Scans JSON (strict RFC 8259) without building values. Every scan returns the position after the scanned token, MORE or
 * BROKEN. After BROKEN, `fault` describes the error and `faultAt` is its position.
 */
export class JsonScanner {
  marks = 0
  fault = ''
  faultAt = 0
  readonly #open = new Uint8Array(maxNestingDepth)

  /** Scans any value at `from`, after optional white space. */
  value(bytes: Uint8Array, from: number, end: number): number {
    const open = this.#open
    let depth = 0
    let at = from
    for (;;) {
      at = afterSpace(bytes, at, end)
      if (at >= end) return NEEDS_MORE
      const byte = bytes[at]!
      if (byte === QUOTE) at = this.string(bytes, at, end)
      else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
        if (depth === maxNestingDepth) return this.broken(`values are nested deeper than ${maxNestingDepth} levels`, at)
        open[depth++] = byte
        at = afterSpace(bytes, at + 1, end)
        if (at >= end) return NEEDS_MORE
        // In ASCII, the code of a closing bracket is the code of its opening bracket plus two.
        if (bytes[at] !== byte + 2) {
          if (byte === OPEN_OBJECT) at = this.key(bytes, at, end)
          if (at < 0) return at
          continue
        }
        depth--
        at++
      } else at = this.#plain(bytes, at, end)
      if (at < 0) return at
      for (;;) {
        if (depth === 0) return at
        at = afterSpace(bytes, at, end)
        if (at >= end) return NEEDS_MORE
        const opened = open[depth - 1]!
        if (bytes[at] === COMMA) {
          at = opened === OPEN_OBJECT ? this.key(bytes, afterSpace(bytes, at + 1, end), end) : at + 1
          if (at < 0) return at
          break
        }
        if (bytes[at] !== opened + 2) {
          return this.broken(`a comma or ${String.fromCharCode(opened + 2)} is expected`, at)
        }
        depth--
        at++
      }
    }
  }

  /** Scans a key and its colon. */
  key(bytes: Uint8Array, from: number, end: number): number {
    if (from >= end) return NEEDS_MORE
    if (bytes[from] !== QUOTE) return this.broken('a key in double quotes is expected', from)
    const closed = this.string(bytes, from, end)
    return closed < 0 ? closed : this.colon(bytes, closed, end)
  }

  colon(bytes: Uint8Array, from: number, end: number): number {
    const at = afterSpace(bytes, from, end)
    if (at >= end) return NEEDS_MORE
    return bytes[at] === COLON ? at + 1 : this.broken('a colon is expected', at)
  }

  /** Scans a string from its opening quote on. */
  string(bytes: Uint8Array, from: number, end: number): number {
    let at = from + 1
    while (at < end) {
      const byte = bytes[at]!
      if (byte === QUOTE) return at + 1
      if (byte === BACKSLASH) {
        this.marks |= HAS_ESCAPE
        at = this.#escape(bytes, at, end)
        if (at < 0) return at
      } else if (byte < 32) return this.broken('a text contains a line end, tab or other control character', at)
      else at++
    }
    return NEEDS_MORE
  }

  broken(fault: string, at: number): typeof INVALID_JSON {
    this.fault = fault
    this.faultAt = at
    return INVALID_JSON
  }

  /** Returns the position after an escape sequence, NEEDS_MORE or INVALID_JSON. */
  #escape(bytes: Uint8Array, from: number, end: number): number {
    if (from + 1 >= end) return NEEDS_MORE
    const letter = bytes[from + 1]!
    if (letter !== 117) return '"\\/bfnrt'.includes(String.fromCharCode(letter)) ? from + 2 : this.#badEscape(from)
    const unit = this.#unit(bytes, from, end)
    if (unit < 0) return unit
    if (unit === 0) this.marks |= HAS_NUL
    if ((unit & 0xf800) !== 0xd800) return from + 6
    if (unit < 0xdc00) {
      if (from + 8 > end) return NEEDS_MORE
      if (bytes[from + 6] === BACKSLASH && bytes[from + 7] === 117) {
        const low = this.#unit(bytes, from + 6, end)
        if (low < 0) return low
        if ((low & 0xfc00) === 0xdc00) return from + 12
      }
    }
    this.marks |= HAS_LONE_SURROGATE
    return from + 6
  }

  #unit(bytes: Uint8Array, from: number, end: number): number {
    if (from + 6 > end) return NEEDS_MORE
    const unit = unitAt(bytes, from)
    return unit < 0 ? this.#badEscape(from) : unit
  }

  #badEscape(at: number): typeof INVALID_JSON {
    return this.broken('a backslash precedes a character that JSON does not escape', at)
  }

  #plain(bytes: Uint8Array, from: number, end: number): number {
    const byte = bytes[from]!
    if (byte === 45 || isDigit(byte)) return this.#number(bytes, from, end)
    const word = byte === 116 ? 'true' : byte === 102 ? 'false' : byte === 110 ? 'null' : ''
    if (word === '') return this.broken('a value is expected', from)
    for (let i = 1; i < word.length; i++) {
      if (from + i >= end) return NEEDS_MORE
      if (bytes[from + i] !== word.charCodeAt(i)) return this.broken('a value is expected', from)
    }
    return from + word.length
  }

  /** Returns the position after a number, NEEDS_MORE or INVALID_JSON. */
  #number(bytes: Uint8Array, from: number, end: number): number {
    let at = bytes[from] === 45 ? from + 1 : from
    const first = at
    while (at < end && isDigit(bytes[at])) at++
    if (at === end) return NEEDS_MORE
    if (at === first || (bytes[first] === 48 && at - first > 1)) return this.#badNumber(from)
    if (bytes[at] === 46) {
      const fraction = ++at
      while (at < end && isDigit(bytes[at])) at++
      if (at === end) return NEEDS_MORE
      if (at === fraction) return this.#badNumber(from)
    }
    if ((bytes[at]! | 32) === 101) {
      at++
      if (bytes[at] === 43 || bytes[at] === 45) at++
      const exponent = at
      while (at < end && isDigit(bytes[at])) at++
      if (at >= end) return NEEDS_MORE
      if (at === exponent) return this.#badNumber(from)
      if (at - exponent > exponentDigits) this.marks |= HAS_HUGE_NUMBER
    }
    if (at - from > longestNumber) this.marks |= HAS_HUGE_NUMBER
    return at
  }

  #badNumber(at: number): typeof INVALID_JSON {
    return this.broken('a number does not have the form of a JSON number', at)
  }
}

/** Returns the code unit of a `\uXXXX` at `from`, or -1. */
export function unitAt(bytes: Uint8Array, from: number): number {
  let unit = 0
  for (let i = from + 2; i < from + 6; i++) {
    const letter = bytes[i]! | 32
    const digit = isDigit(bytes[i]) ? bytes[i]! - 48 : letter >= 97 && letter <= 102 ? letter - 87 : -1
    if (digit < 0) return -1
    unit = (unit << 4) | digit
  }
  return unit
}
