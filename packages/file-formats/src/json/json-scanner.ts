import { wasmJson } from './wasm-json-scanner.ts'

/** Results of a scan instead of a position: the available bytes end too early, or they are not valid JSON. */
export const NEEDS_MORE = -1
export const INVALID_JSON = -2

export const QUOTE = 34
export const COMMA = 44
export const OPEN_ARRAY = 91
export const BACKSLASH = 92
export const OPEN_OBJECT = 123

/** Descriptions of syntax errors, in the order of assembly/json/scan-value.ts. */
const faultTexts = [
  'a key in double quotes is expected',
  'a key is not valid UTF-8',
  'a comma or } is expected',
  'a comma or ] is expected',
  'a colon is expected',
  'a value is expected',
  'values are nested deeper than 512 levels',
  'a text contains a line end, tab or other control character',
  'a backslash precedes a character that JSON does not escape',
  'a number does not have the form of a JSON number',
] as const

export const isSpace = (byte: number) => byte === 32 || byte === 10 || byte === 13 || byte === 9

/** Returns the position of the first byte that is not white space, or `end`. */
export function skipSpace(bytes: Uint8Array, from: number, end: number): number {
  let position = from
  while (position < end && isSpace(bytes[position]!)) position++
  return position
}

const { run } = wasmJson
const windowStart = run.IN.value

/** Converts a result of the scanner to a position in the window. A negative result is a code, which stays unchanged. */
export const toWindowPosition = (result: number): number => (result < 0 ? result : result - windowStart)

/**
 * Scans JSON (strict RFC 8259) in the window of the WebAssembly scanner without building values. Each scan returns the
 * position after the token, NEEDS_MORE or INVALID_JSON.
 */
export const jsonScanner = {
  /** Scans a value at `from`, after optional white space. */
  value: (from: number, end: number): number => toWindowPosition(run.scanValue(windowStart + from, windowStart + end)),
  /** Scans a key and the colon after it. */
  key: (from: number, end: number): number => toWindowPosition(run.scanKey(windowStart + from, windowStart + end)),
  /** Scans a string that starts with its opening quote. */
  string: (from: number, end: number): number =>
    toWindowPosition(run.scanString(windowStart + from, windowStart + end)),
  /** After INVALID_JSON: the description of the syntax error. */
  get fault(): string {
    return faultTexts[run.fault.value]!
  },
  get faultAt(): number {
    return run.faultAt.value - windowStart
  },
}
