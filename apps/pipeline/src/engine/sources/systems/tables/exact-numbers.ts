import { assertJsonLimits, maxJsonValues } from './json-limits.ts'

/** Types for JSON.parse with source text and JSON.rawJSON, which TypeScript does not have yet. */
const json = JSON as unknown as {
  parse(text: string, reviver: (key: string, value: unknown, context: { source?: string }) => unknown): unknown
  rawJSON(text: string): object
  isRawJSON(value: unknown): boolean
}

/**
 * Sixteen digits, which a number of JavaScript may not hold: then they are kept as they are written. No more of them are looked at, since
 * an expression that takes as many as there are runs out of stack where a number has millions.
 */
const longNumber = /[:[,\s]-?\d[\d.]{15}/

/**
 * JSON whose numbers keep their digits: one that would lose some is an `isExact` object, which JSON.stringify writes as it was. Throws
 * SyntaxError where it is none, and `SourceProblem` ANSWER_TOO_LARGE or OTHER_PROTOCOL where it holds more than `most` values, or is
 * nested too deep.
 */
export function parseJson(text: string, most = maxJsonValues): unknown {
  const exact = longNumber.test(text)
  // To keep digits takes up to five times as long for each value, and twice the memory.
  assertJsonLimits(text, exact ? most / 2 : most)
  if (!exact) return JSON.parse(text)
  return json.parse(text, (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined && String(value) !== source ? json.rawJSON(source) : value,
  )
}

export const isExact = (value: unknown): value is object => json.isRawJSON(value)

const number = /^-?(0|[1-9]\d*)(\.\d+)?$/

/** Parses a number and keeps all digits; undefined if the text is not a number. */
export const exactNumber = (text: string): object | undefined =>
  number.test(text) && text.length < 400 ? json.rawJSON(text) : undefined
