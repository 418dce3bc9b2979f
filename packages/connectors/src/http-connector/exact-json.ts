import { SourceProblem } from '@sluice/row-stream'

/** Types for JSON.parse with source text and JSON.rawJSON, which TypeScript does not have yet. */
const json = JSON as unknown as {
  parse(text: string, reviver: (key: string, value: unknown, context: { source?: string }) => unknown): unknown
  rawJSON(text: string): object
  isRawJSON(value: unknown): boolean
}

/**
 * Matches numbers of sixteen digits or more, which may exceed the precision of a JavaScript number. The pattern reads only
 * sixteen digits, because an unlimited quantifier overflows the stack for a number with millions of digits.
 */
const longNumber = /[:[,\s]-?\d[\d.]{15}/

/**
 * Parses JSON without loss of digits: a number that would lose some becomes an `isExact` object, which JSON.stringify writes
 * unchanged. Throws SyntaxError for invalid JSON, and `SourceProblem` ANSWER_TOO_LARGE or OTHER_PROTOCOL if it has more than
 * `maxValues` values or is nested too deeply.
 */
export function parseJson(text: string, maxValues = maxJsonValues): unknown {
  const hasLongNumbers = longNumber.test(text)
  // Keeping the digits takes up to five times as long for each value, and twice the memory.
  assertJsonLimits(text, hasLongNumbers ? maxValues / 2 : maxValues)
  if (!hasLongNumbers) return JSON.parse(text)
  return json.parse(text, (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined && String(value) !== source ? json.rawJSON(source) : value,
  )
}

export const isExact = (value: unknown): value is object => json.isRawJSON(value)

const number = /^-?(0|[1-9]\d*)(\.\d+)?$/

/** Parses a number and keeps all digits; undefined if the text is not a number. */
export const exactNumber = (text: string): object | undefined =>
  number.test(text) && text.length < 400 ? json.rawJSON(text) : undefined

/**
 * Maximum number of values of a JSON text that is parsed at once; each list and object counts as two. Measured: two million
 * take 0.1 to 1.4 seconds of the event loop and up to 150 MB, the most if all keys are different.
 */
export const maxJsonValues = 2_000_000
/** Maximum number of values of one record of a list: more than any patient or form needs, and little compared with the other limits. */
export const maxRecordValues = 500_000
/** Maximum number of values if a user waits for the response, in a process that also serves other users. */
export const maxInteractiveValues = 500_000
/** Maximum nesting depth. The records of all systems are less deep. */
const maxDepth = 1_000

const [quote, backslash, comma] = [0x22, 0x5c, 0x2c]
const [openList, closeList, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d]

/**
 * Checks a JSON text before it is parsed, because a check after parsing is too late: ten million `{}` are 30 MB of text, and
 * 640 MB in memory. Throws `SourceProblem` ANSWER_TOO_LARGE if the text has more than `maxValues` values, so that readers of pages
 * request smaller ones, and OTHER_PROTOCOL if it is nested too deeply. 31 MB take 0.1 seconds.
 */
function assertJsonLimits(text: string, maxValues: number): void {
  let [values, depth, greatestDepth] = [1, 0, 0]
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === quote) at = endOfText(text, at + 1)
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
  if (greatestDepth > maxDepth)
    throw new SourceProblem(
      'OTHER_PROTOCOL',
      `The response is nested ${formatLimit(greatestDepth)} levels deep, more than the limit of ${formatLimit(maxDepth)}. Check the address, and that its records are as the API documents them.`,
    )
}

/** Finds the end of the string that starts here. */
function endOfText(text: string, from: number): number {
  let at = from
  for (let code = text.charCodeAt(at); at < text.length && code !== quote; code = text.charCodeAt(at))
    at += code === backslash ? 2 : 1
  return at
}

const formatLimit = (count: number): string => count.toLocaleString('en')
