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
  let position = from
  while (position < end && isSpace(bytes[position]!)) position++
  return position
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
    let position = from
    for (;;) {
      position = afterSpace(bytes, position, end)
      if (position >= end) return NEEDS_MORE
      const byte = bytes[position]!
      if (byte === QUOTE) position = this.string(bytes, position, end)
      else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
        if (depth === maxNestingDepth)
          return this.broken(`values are nested deeper than ${maxNestingDepth} levels`, position)
        open[depth++] = byte
        position = afterSpace(bytes, position + 1, end)
        if (position >= end) return NEEDS_MORE
        // In ASCII, the code of a closing bracket is the code of its opening bracket plus two.
        if (bytes[position] !== byte + 2) {
          if (byte === OPEN_OBJECT) position = this.key(bytes, position, end)
          if (position < 0) return position
          continue
        }
        depth--
        position++
      } else position = this.#plain(bytes, position, end)
      if (position < 0) return position
      for (;;) {
        if (depth === 0) return position
        position = afterSpace(bytes, position, end)
        if (position >= end) return NEEDS_MORE
        const openedAt = open[depth - 1]!
        if (bytes[position] === COMMA) {
          position =
            openedAt === OPEN_OBJECT ? this.key(bytes, afterSpace(bytes, position + 1, end), end) : position + 1
          if (position < 0) return position
          break
        }
        if (bytes[position] !== openedAt + 2) {
          return this.broken(`a comma or ${String.fromCharCode(openedAt + 2)} is expected`, position)
        }
        depth--
        position++
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
    const position = afterSpace(bytes, from, end)
    if (position >= end) return NEEDS_MORE
    return bytes[position] === COLON ? position + 1 : this.broken('a colon is expected', position)
  }

  /** Scans a string from its opening quote on. */
  string(bytes: Uint8Array, from: number, end: number): number {
    let position = from + 1
    while (position < end) {
      const byte = bytes[position]!
      if (byte === QUOTE) return position + 1
      if (byte === BACKSLASH) {
        this.marks |= HAS_ESCAPE
        position = this.#escape(bytes, position, end)
        if (position < 0) return position
      } else if (byte < 32) return this.broken('a text contains a line end, tab or other control character', position)
      else position++
    }
    return NEEDS_MORE
  }

  broken(fault: string, position: number): typeof INVALID_JSON {
    this.fault = fault
    this.faultAt = position
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

  #badEscape(position: number): typeof INVALID_JSON {
    return this.broken('a backslash precedes a character that JSON does not escape', position)
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
    let position = bytes[from] === 45 ? from + 1 : from
    const first = position
    while (position < end && isDigit(bytes[position])) position++
    if (position === end) return NEEDS_MORE
    if (position === first || (bytes[first] === 48 && position - first > 1)) return this.#badNumber(from)
    if (bytes[position] === 46) {
      const fraction = ++position
      while (position < end && isDigit(bytes[position])) position++
      if (position === end) return NEEDS_MORE
      if (position === fraction) return this.#badNumber(from)
    }
    if ((bytes[position]! | 32) === 101) {
      position++
      if (bytes[position] === 43 || bytes[position] === 45) position++
      const exponent = position
      while (position < end && isDigit(bytes[position])) position++
      if (position >= end) return NEEDS_MORE
      if (position === exponent) return this.#badNumber(from)
      if (position - exponent > exponentDigits) this.marks |= HAS_HUGE_NUMBER
    }
    if (position - from > longestNumber) this.marks |= HAS_HUGE_NUMBER
    return position
  }

  #badNumber(position: number): typeof INVALID_JSON {
    return this.broken('a number does not have the form of a JSON number', position)
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
