import { SourceProblem } from '@sluice/row-stream'

/**
 * JavaScript features that TypeScript's types do not include yet: source text in the reviver of JSON.parse, and
 * JSON.rawJSON.
 */
const typedJson = JSON as unknown as {
  parse(text: string, reviver: (key: string, value: unknown, context: { source?: string }) => unknown): unknown
  rawJSON(text: string): object
  isRawJSON(value: unknown): boolean
}

/** Only numbers of at least this many characters can have more digits than a JavaScript number. */
const minInexactLength = 16
/** The maximum length of a number that JavaScript prints, in characters. */
const maxPrintedLength = 25

/**
 * Parses JSON without losing digits. A number that JavaScript cannot represent becomes an object, which `isExactNumber`
 * recognises and JSON.stringify writes with all digits. Throws SyntaxError for invalid JSON, and the `SourceProblem` of
 * `assertJsonLimits`.
 */
export function parseJson(text: string, maxValues = maxJsonValues): unknown {
  const measure = measureJson(text)
  // The limit is halved, because keeping the digits takes twice the memory and up to five times as long for each value.
  assertJsonLimits(measure, measure.hasInexactNumber ? maxValues / 2 : maxValues)
  if (!measure.hasInexactNumber) return JSON.parse(text)
  return typedJson.parse(text, (_key, value, { source }) => {
    if (typeof value !== 'number' || source === undefined) return value
    return String(value) === source ? value : typedJson.rawJSON(source)
  })
}

// Character codes.
const quote = 0x22
const comma = 0x2c
const point = 0x2e
const zero = 0x30
const nine = 0x39
const openList = 0x5b
const backslash = 0x5c
const closeList = 0x5d
const lowerE = 0x65
const openObject = 0x7b
const closeObject = 0x7d
/** Adding this bit to the code of an upper case character results in that of the lower case one. */
const lowerCaseBit = 0x20

interface JsonMeasure {
  /** The number of commas and opening brackets, and one. */
  values: number
  greatestDepth: number
  /** True if a long number would lose digits as a JavaScript number, or a large or small number its value. */
  hasInexactNumber: boolean
}

/**
 * Counts the values of a JSON text, its depth, and finds whether it has an inexact number, in one pass without parsing.
 * Measured: 0.1 seconds for 31 MB.
 */
function measureJson(text: string): JsonMeasure {
  let values = 1
  let depth = 0
  let greatestDepth = 0
  let hasInexactNumber = false
  const { length } = text
  for (let position = 0; position < length; position += 1) {
    const code = text.charCodeAt(position)
    if (code === quote) position = findStringEnd(text, position + 1)
    else if (code === comma) values += 1
    else if (code === openList || code === openObject) {
      values += 1
      depth += 1
      if (depth > greatestDepth) greatestDepth = depth
    } else if (code === closeList || code === closeObject) depth -= 1
    else if (code >= zero && code <= nine) {
      const digitsEnd = findDigitsEnd(text, position)
      const canBeInexact = digitsEnd - position >= minInexactLength || hasLargeExponent(text, digitsEnd)
      if (canBeInexact && !hasInexactNumber) hasInexactNumber = isInexactNumber(text, position)
      position = digitsEnd - 1
    }
  }
  return { values, greatestDepth, hasInexactNumber }
}

/** True for the object that `parseJson` and `parseExactNumber` return for a number, to keep all its digits. */
export const isExactNumber = (value: unknown): value is object => typedJson.isRawJSON(value)

const maxNumberLength = 400
const numberPattern = /^-?(0|[1-9]\d*)(\.\d+)?$/

/** Parses a number and keeps all its digits. Returns undefined if the text is not a number of less than 400 digits. */
export const parseExactNumber = (text: string): object | undefined =>
  numberPattern.test(text) && text.length < maxNumberLength ? typedJson.rawJSON(text) : undefined

/**
 * The maximum number of values in a JSON text. Commas and opening brackets are counted, so an empty list or object
 * counts as two values. Measured: 2 million values block the event loop for 0.1 to 1.4 seconds and take up to 150 MB.
 */
export const maxJsonValues = 2_000_000
/** Maximum number of values of one record, such as a patient or a form. Real records have far fewer. */
export const maxRecordValues = 500_000
/**
 * The maximum number of values in a response for which a user waits. It is lower than `maxJsonValues`, because that
 * process serves other users too.
 */
export const maxInteractiveValues = 500_000
/** Maximum nesting depth. Real records are nested far less deep. */
const maxJsonDepth = 1_000

/**
 * Checks the size of a JSON text before it is parsed, because ten million `{}` take 30 MB as text, but 640 MB in
 * memory. Throws ANSWER_TOO_LARGE for too many values, so that the caller requests smaller pages. Throws OTHER_PROTOCOL
 * for too deep nesting, because no supported API nests its records so deep: the response comes from another service.
 */
function assertJsonLimits({ values, greatestDepth }: JsonMeasure, maxValues: number): void {
  if (values > maxValues)
    throw new SourceProblem(
      'ANSWER_TOO_LARGE',
      `The response has about ${formatLimit(values)} values, more than the limit of ${formatLimit(maxValues)}. Request fewer records at a time, or select fewer of their fields.`,
    )
  if (greatestDepth > maxJsonDepth)
    throw new SourceProblem(
      'OTHER_PROTOCOL',
      `The response is nested ${formatLimit(greatestDepth)} levels deep, more than the limit of ${formatLimit(maxJsonDepth)}. Check that the address is that of the API.`,
    )
}

/**
 * Returns the position of the closing quote of a string, or a position at or after the end of the text if it is
 * missing. `from` is the position after the opening quote.
 */
function findStringEnd(text: string, from: number): number {
  let position = from
  while (position < text.length) {
    const code = text.charCodeAt(position)
    if (code === quote) return position
    // Skips the escaped character too.
    position += code === backslash ? 2 : 1
  }
  return position
}

/** Returns the position after the digits and points at `from`. */
function findDigitsEnd(text: string, from: number): number {
  let position = from
  let code = text.charCodeAt(position)
  while ((code >= zero && code <= nine) || code === point) {
    position += 1
    code = text.charCodeAt(position)
  }
  return position
}

/** True if an exponent of at least three digits is at a position. */
const hasLargeExponent = (text: string, position: number): boolean =>
  (text.charCodeAt(position) | lowerCaseBit) === lowerE && /^[+-]?\d{3}/.test(text.slice(position + 1, position + 5))

/**
 * True if the number at `from` would change as a JavaScript number: a long number loses digits, and a shorter one with
 * a large exponent becomes infinite or 0.
 */
function isInexactNumber(text: string, from: number): boolean {
  const [numberText] = /^[-+\d.eE]*/.exec(text.slice(from, from + 1 + maxPrintedLength))!
  const number = Number(numberText)
  const isLong = numberText.length >= minInexactLength
  return isLong ? String(number) !== numberText : !Number.isFinite(number) || number === 0
}

const formatLimit = (count: number): string => count.toLocaleString('en')
