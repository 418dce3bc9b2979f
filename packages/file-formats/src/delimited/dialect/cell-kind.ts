/** Kinds of cells, found roughly and quickly. They do not decide the types of columns. */
export const EMPTY = 0
export const NUMBER = 1
/** A date, a time, or both. */
export const TIME = 2
export const TEXT = 3
/** Text that looks wrongly split: a stray quote at its edge, an unmatched bracket, or other delimiters inside. */
export const DEBRIS = 4
/** Text that begins with a space. */
export const INDENTED = 5

const longestTyped = 40

/** Classes of bytes. */
const DIGIT = 1
const LETTER = 2
const SIGN = 3
const SEPARATOR = 4
const COLON = 5
const GAP = 6
const COMMA = 7
const POINT = 8
const QUOTE = 9
const DELIMITER = 10
const UNIT = 11
const OTHER = 12

const classes = new Uint8Array(256).fill(OTHER)
const classify = (characters: string, kind: number) => {
  for (const character of characters) classes[character.charCodeAt(0)] = kind
}
classify('0123456789', DIGIT)
classify('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz', LETTER)
classes.fill(LETTER, 0x80)
classify('+-', SIGN)
classify('/', SEPARATOR)
classify(':', COLON)
classify(' ', GAP)
classify(',', COMMA)
classify('.', POINT)
classify('"\'', QUOTE)
classify(';|\t^~\u001f', DELIMITER)
classify('$%', UNIT)

const counts = new Uint16Array(OTHER + 1)

/** Returns the kind of `bytes[from..to]`. A quoted cell may contain delimiters. */
export function cellKind(bytes: Uint8Array, from: number, to: number, quoted: boolean): number {
  let start = from
  let end = to
  while (start < end && bytes[start] === 32) start++
  while (end > start && bytes[end - 1] === 32) end--
  if (start === end) return EMPTY
  if (end - start <= longestTyped) {
    const kind = typedKind(bytes, start, end)
    if (kind !== TEXT) return kind
  }
  if (!quoted && isDebris(bytes, start, end)) return DEBRIS
  return start > from && !quoted ? INDENTED : TEXT
}

function typedKind(bytes: Uint8Array, from: number, to: number): number {
  counts.fill(0)
  for (let at = from; at < to; at++) counts[classes[bytes[at]!]!]!++
  const digits = counts[DIGIT]!
  if (digits === 0 || counts[OTHER]! + counts[DELIMITER]! + counts[QUOTE]! > 0) return TEXT
  const letters = counts[LETTER]!
  const colons = counts[COLON]!
  const slashes = counts[SEPARATOR]!
  const points = counts[POINT]!
  const signs = counts[SIGN]!
  if (letters === 0 && colons + slashes === 0 && isNumber(bytes, from, to)) return NUMBER
  if (letters === 1 && colons + slashes === 0 && isExponent(bytes, from, to)) return NUMBER
  if (counts[COMMA]! + counts[UNIT]! > 0 || digits < 3 || digits > 21) return TEXT
  const dashed = signs >= 2 || slashes === 2 || points >= 2
  const clock = colons >= 1 && colons <= 3 && digits >= 3
  if (letters === 0) return dashed || clock ? (signs + slashes + points + colons <= 8 ? TIME : TEXT) : TEXT
  // 2024-01-31T10:00Z, 10:30 PM, 12-Jan-2024.
  if (letters <= 2 && clock) return TIME
  return letters === 3 && (signs === 2 || slashes === 2) ? TIME : TEXT
}

/** Whether the bytes are a number: digits with a sign, a unit, groups and a fraction in any notation. */
function isNumber(bytes: Uint8Array, from: number, to: number): boolean {
  let at = from
  if (bytes[at] === 36) at++
  if (classes[bytes[at]!] === SIGN) at++
  if (bytes[at] === 36) at++
  let separators = 0
  let points = 0
  let commas = 0
  let last = 0
  let digitsAfterComma = 0
  for (; at < to; at++) {
    const kind = classes[bytes[at]!]!
    if (kind === UNIT) return bytes[at] === 37 && at === to - 1
    if (kind === DIGIT) {
      last = 0
      digitsAfterComma++
      continue
    }
    if (commas > 1 && digitsAfterComma !== 3) return false
    digitsAfterComma = 0
    if (kind !== POINT && kind !== COMMA && kind !== GAP) return false
    if (last !== 0) return false
    last = kind
    separators++
    if (kind === POINT) points++
    if (kind === COMMA) commas++
  }
  return (
    last !== COMMA &&
    (commas < 2 || points > 0 || digitsAfterComma === 3) &&
    separators <= 6 &&
    !(points > 1 && commas > 1) &&
    !(points > 1 && commas === 0 && to - from < 9)
  )
}

function isExponent(bytes: Uint8Array, from: number, to: number): boolean {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString('latin1')
  return /^[-+]?[\d.,]+e[-+]?\d+$/i.test(text)
}

function isDebris(bytes: Uint8Array, from: number, to: number): boolean {
  const first = bytes[from]!
  const last = bytes[to - 1]!
  if (first === 34 || (first === 39 && (last === 39 || to - from === 1))) return true
  // 5" is five inches.
  if (last === 34 && (to - from < 2 || classes[bytes[to - 2]!] !== DIGIT)) return true
  let open = 0
  for (let at = from; at < to; at++) {
    const byte = bytes[at]!
    const kind = classes[byte]
    if (kind === OTHER) open += bracket(byte)
    if ((kind === DELIMITER || kind === COMMA) && at + 1 < to && bytes[at + 1] !== 32) return true
  }
  return open !== 0
}

/** Returns 1 for an opening bracket, -1 for a closing one, else 0. */
function bracket(byte: number): number {
  if (byte === 40 || byte === 91 || byte === 123) return 1
  return byte === 41 || byte === 93 || byte === 125 ? -1 : 0
}
