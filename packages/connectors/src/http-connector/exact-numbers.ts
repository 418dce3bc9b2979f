import { assertJsonLimits, maxJsonValues } from './json-limits.ts'

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
 * `most` values or is nested too deeply.
 */
export function parseJson(text: string, most = maxJsonValues): unknown {
  const exact = longNumber.test(text)
  // Keeping the digits takes up to five times as long for each value, and twice the memory.
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
