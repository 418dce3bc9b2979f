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

/**
 * Matches the start of a number that a JavaScript number may not represent exactly: it has at least 16 characters, or
 * an exponent of three digits. Quantifiers are bounded, because unbounded ones overflow the stack for a number with
 * millions of digits.
 */
const longNumberPattern = /[:[,\s]-?\d(?:[\d.]{15}|[\d.]{0,14}e[+-]?\d{3})/gi
/** Text length from which a number may have more digits than a JavaScript number can represent. */
const longLength = 16
/** The maximum length of a number that JavaScript prints, in characters. */
const maxPrintedLength = 25

/**
 * Parses JSON without losing digits. A number that JavaScript cannot represent becomes an object, which `isExactNumber`
 * recognises and JSON.stringify writes with all digits. Throws SyntaxError for invalid JSON, and the `SourceProblem` of
 * `assertJsonLimits`.
 */
export function parseJson(text: string, maxValues = maxJsonValues): unknown {
  const needsExactNumbers = hasInexactNumber(text)
  // The limit is halved, because keeping digits takes twice the memory and up to five times as long per value.
  assertJsonLimits(text, needsExactNumbers ? maxValues / 2 : maxValues)
  if (!needsExactNumbers) return JSON.parse(text)
  return typedJson.parse(text, (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined && String(value) !== source ? typedJson.rawJSON(source) : value,
  )
}

/**
 * True if JavaScript would lose digits of a long number, or misrepresent a very large or small one. Long coordinates
 * usually lose no digits.
 */
function hasInexactNumber(text: string): boolean {
  for (const { index } of text.matchAll(longNumberPattern)) {
    const [number] = /^[-+\d.eE]*/.exec(text.slice(index + 1, index + 2 + maxPrintedLength))!
    const value = Number(number)
    if (number.length < longLength ? !Number.isFinite(value) || value === 0 : String(value) !== number) return true
  }
  return false
}

export const isExactNumber = (value: unknown): value is object => typedJson.isRawJSON(value)

const numberPattern = /^-?(0|[1-9]\d*)(\.\d+)?$/

/** Parses a number and keeps all its digits. Returns undefined if the text is not a number. */
export const parseExactNumber = (text: string): object | undefined =>
  numberPattern.test(text) && text.length < 400 ? typedJson.rawJSON(text) : undefined

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

const [quote, backslash, comma] = [0x22, 0x5c, 0x2c]
const [openList, closeList, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d]

/**
 * Checks the size of a JSON text before it is parsed, because ten million `{}` are 30 MB of text but take 640 MB in
 * memory. Checking 31 MB takes 0.1 seconds. Throws ANSWER_TOO_LARGE for too many values, so that the caller requests
 * smaller pages. Throws OTHER_PROTOCOL for too deep nesting, which no supported API has, so the response comes from
 * another service.
 */
function assertJsonLimits(text: string, maxValues: number): void {
  let [values, depth, greatestDepth] = [1, 0, 0]
  for (let position = 0; position < text.length; position += 1) {
    const code = text.charCodeAt(position)
    if (code === quote) position = findStringEnd(text, position + 1)
    else if (code === comma) values += 1
    else if (code === openList || code === openObject) {
      values += 1
      depth += 1
      if (depth > greatestDepth) greatestDepth = depth
    } else if (code === closeList || code === closeObject) depth -= 1
  }
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

/** Returns the position of the closing quote of a string. `from` is the position after the opening quote. */
function findStringEnd(text: string, from: number): number {
  let position = from
  for (let code = text.charCodeAt(position); position < text.length && code !== quote; code = text.charCodeAt(position))
    position += code === backslash ? 2 : 1
  return position
}

const formatLimit = (count: number): string => count.toLocaleString('en')
