/**
 * Kinds of cells, determined quickly and approximately for detecting the dialect. They do not determine column types.
 */
export const EMPTY_CELL = 0
export const NUMBER_CELL = 1
/** A date, a time, or both. */
export const TIME_CELL = 2
export const TEXT_CELL = 3
/**
 * A text that looks like the result of a wrong split: a stray quote at its edge, an unmatched bracket, or other
 * delimiters inside.
 */
export const MISSPLIT_CELL = 4
/** A text that starts with a space. */
export const INDENTED_CELL = 5

/** The maximum bytes of a number or a time. */
const maxTypedBytes = 40
/**
 * The minimum and maximum digits of a time: from `9:30` to a timestamp with milliseconds and a UTC offset,
 * `2024-01-31T10:00:00.123+01:00`.
 */
const [minTimeDigits, maxTimeDigits] = [3, 21]
/** The maximum number of separators in a number, and the minimum bytes of a number with several points. */
const maxNumberSeparators = 6
const minBytesWithSeveralPoints = 9
/** The maximum number of signs, slashes, colons and points in a time. */
const maxTimeSeparators = 8

/** Classes of bytes. `byteClasses` has the class of each byte, and `classCounts` counts the bytes of each class. */
const DIGIT_CLASS = 1
const LETTER_CLASS = 2
const SIGN_CLASS = 3
const SLASH_CLASS = 4
const COLON_CLASS = 5
const SPACE_CLASS = 6
const COMMA_CLASS = 7
const POINT_CLASS = 8
const QUOTE_CLASS = 9
const DELIMITER_CLASS = 10
const UNIT_CLASS = 11
const OTHER_CLASS = 12

const SPACE_BYTE = 0x20
const DOUBLE_QUOTE_BYTE = 0x22
const DOLLAR_BYTE = 0x24
const PERCENT_BYTE = 0x25
const SINGLE_QUOTE_BYTE = 0x27

const byteClasses = new Uint8Array(256).fill(OTHER_CLASS)
const setByteClass = (characters: string, byteClass: number) => {
  for (const character of characters) byteClasses[character.charCodeAt(0)] = byteClass
}
setByteClass('0123456789', DIGIT_CLASS)
setByteClass('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz', LETTER_CLASS)
// Bytes of non-ASCII characters count as letters.
byteClasses.fill(LETTER_CLASS, 0x80)
setByteClass('+-', SIGN_CLASS)
setByteClass('/', SLASH_CLASS)
setByteClass(':', COLON_CLASS)
setByteClass(' ', SPACE_CLASS)
setByteClass(',', COMMA_CLASS)
setByteClass('.', POINT_CLASS)
setByteClass('"\'', QUOTE_CLASS)
setByteClass(';|\t^~\u001f', DELIMITER_CLASS)
setByteClass('$%', UNIT_CLASS)

/** For each byte: 1 for an opening bracket, -1 for a closing one, otherwise 0. */
const bracketDepthChanges = new Int8Array(256)
for (const bracket of Buffer.from('([{')) bracketDepthChanges[bracket] = 1
for (const bracket of Buffer.from(')]}')) bracketDepthChanges[bracket] = -1

const classCounts = new Uint16Array(OTHER_CLASS + 1)

/**
 * Returns the kind of the cell in `bytes` from `from` to `to`. A quoted cell may contain delimiters and start with a
 * space, so it is never MISSPLIT_CELL or INDENTED_CELL.
 */
export function cellKind(bytes: Uint8Array, from: number, to: number, isQuoted: boolean): number {
  let start = from
  let end = to
  while (start < end && bytes[start] === SPACE_BYTE) start++
  while (end > start && bytes[end - 1] === SPACE_BYTE) end--
  if (start === end) return EMPTY_CELL
  if (end - start <= maxTypedBytes) {
    const kind = numberOrTimeKind(bytes, start, end)
    if (kind !== TEXT_CELL) return kind
  }
  if (!isQuoted && isMissplit(bytes, start, end)) return MISSPLIT_CELL
  return start > from && !isQuoted ? INDENTED_CELL : TEXT_CELL
}

/**
 * Returns NUMBER_CELL or TIME_CELL if a cell without spaces around it looks like a number or time, otherwise TEXT_CELL.
 * Counts the bytes of each class instead of parsing, which is faster.
 */
function numberOrTimeKind(bytes: Uint8Array, from: number, to: number): number {
  classCounts.fill(0)
  for (let position = from; position < to; position++) classCounts[byteClasses[bytes[position]!]!]!++
  const digits = classCounts[DIGIT_CLASS]!
  const bytesOfTextOnly = classCounts[OTHER_CLASS]! + classCounts[DELIMITER_CLASS]! + classCounts[QUOTE_CLASS]!
  if (digits === 0 || bytesOfTextOnly > 0) return TEXT_CELL
  const letters = classCounts[LETTER_CLASS]!
  const hasTimeSeparators = classCounts[COLON_CLASS]! + classCounts[SLASH_CLASS]! > 0
  if (!hasTimeSeparators && letters === 0 && isNumber(bytes, from, to)) return NUMBER_CELL
  if (!hasTimeSeparators && letters === 1 && isExponent(bytes, from, to)) return NUMBER_CELL
  return isTime(classCounts) ? TIME_CELL : TEXT_CELL
}

/** True if a cell looks like a date, a time or both, judging by the number of its bytes of each class. */
function isTime(counts: Uint16Array): boolean {
  const digits = counts[DIGIT_CLASS]!
  const hasCommaOrUnit = counts[COMMA_CLASS]! + counts[UNIT_CLASS]! > 0
  if (hasCommaOrUnit || digits < minTimeDigits || digits > maxTimeDigits) return false
  const letters = counts[LETTER_CLASS]!
  const colons = counts[COLON_CLASS]!
  const slashes = counts[SLASH_CLASS]!
  const points = counts[POINT_CLASS]!
  const signs = counts[SIGN_CLASS]!
  // Has the colons of a time, as in 10:30, 10:30:00 or 10:30:00+01:00.
  const hasTimeColons = colons >= 1 && colons <= 3
  if (letters === 0) {
    // Has the separators of a date, as in 2024-01-31, 31/01/2024 or 31.01.2024.
    const hasDateSeparators = signs >= 2 || slashes === 2 || points >= 2
    const hasFewSeparators = signs + slashes + points + colons <= maxTimeSeparators
    return (hasDateSeparators || hasTimeColons) && hasFewSeparators
  }
  const isTimeWithLetters = letters <= 2 && hasTimeColons // 2024-01-31T10:00Z or 10:30 PM
  const isDateWithMonthName = letters === 3 && (signs === 2 || slashes === 2) // 12-Jan-2024
  return isTimeWithLetters || isDateWithMonthName
}

/**
 * True if the bytes look like a number: digits with an optional sign, unit and fraction. Points, commas and spaces may
 * separate digits, but no two of them may be adjacent. Two or more commas are thousands separators, so three digits
 * must follow each. A dollar sign may come before or after the sign; a percent sign comes last.
 */
function isNumber(bytes: Uint8Array, from: number, to: number): boolean {
  let separators = 0
  let points = 0
  let commas = 0
  let digitsSinceSeparator = 0
  let isAfterSeparator = false
  for (let position = skipSignAndDollar(bytes, from); position < to; position++) {
    const byteClass = byteClasses[bytes[position]!]!
    if (byteClass === DIGIT_CLASS) {
      digitsSinceSeparator++
      isAfterSeparator = false
      continue
    }
    if (byteClass === UNIT_CLASS) return bytes[position] === PERCENT_BYTE && position === to - 1
    const isSeparator = byteClass === POINT_CLASS || byteClass === COMMA_CLASS || byteClass === SPACE_CLASS
    if (!isSeparator || isAfterSeparator) return false
    const endsThousandsGroup = commas > 1
    if (endsThousandsGroup && digitsSinceSeparator !== 3) return false
    isAfterSeparator = true
    digitsSinceSeparator = 0
    separators++
    if (byteClass === POINT_CLASS) points++
    if (byteClass === COMMA_CLASS) commas++
  }
  const endsWithComma = isAfterSeparator && byteClasses[bytes[to - 1]!] === COMMA_CLASS
  if (endsWithComma || separators > maxNumberSeparators) return false
  // The last group of digits after several thousands separators has three digits too, unless it is a fraction.
  if (commas > 1 && points === 0 && digitsSinceSeparator !== 3) return false
  // Only one of the two characters can separate thousands.
  if (points > 1 && commas > 1) return false
  // A short text with several points, such as 31.1.24, is probably a date.
  const mayBeDate = points > 1 && commas === 0 && to - from < minBytesWithSeveralPoints
  return !mayBeDate
}

/** Returns the position after an optional sign with an optional dollar sign before or after it. */
function skipSignAndDollar(bytes: Uint8Array, from: number): number {
  let position = from
  if (bytes[position] === DOLLAR_BYTE) position++
  if (byteClasses[bytes[position]!] === SIGN_CLASS) position++
  if (bytes[position] === DOLLAR_BYTE) position++
  return position
}

/** True if the bytes look like a number with an exponent, as in 1.5e-7. */
function isExponent(bytes: Uint8Array, from: number, to: number): boolean {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString('latin1')
  return /^[-+]?[\d.,]+e[-+]?\d+$/i.test(text)
}

/**
 * True if a cell looks like a fragment that a wrong delimiter or quote produced: it has a quote at its edge, a
 * delimiter without a space after it, or an unmatched bracket. A single quote at the start only counts if one is also
 * at the end.
 */
function isMissplit(bytes: Uint8Array, from: number, to: number): boolean {
  const firstByte = bytes[from]!
  const lastByte = bytes[to - 1]!
  if (firstByte === DOUBLE_QUOTE_BYTE) return true
  // The first byte of a cell that is only a single quote is also its last byte.
  if (firstByte === SINGLE_QUOTE_BYTE && lastByte === SINGLE_QUOTE_BYTE) return true
  // A quote after a digit is an inch mark, as in 5".
  if (lastByte === DOUBLE_QUOTE_BYTE && byteClasses[bytes[to - 2]!] !== DIGIT_CLASS) return true
  let bracketDepth = 0
  for (let position = from; position < to; position++) {
    const byte = bytes[position]!
    const byteClass = byteClasses[byte]
    bracketDepth += bracketDepthChanges[byte]!
    const isDelimiter = byteClass === DELIMITER_CLASS || byteClass === COMMA_CLASS
    const isFollowedByText = position + 1 < to && bytes[position + 1] !== SPACE_BYTE
    if (isDelimiter && isFollowedByText) return true
  }
  return bracketDepth !== 0
}
