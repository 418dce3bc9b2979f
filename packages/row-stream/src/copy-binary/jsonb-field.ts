import { UnstorableValue, type TupleBuffer, checkValueBytes } from './tuple-buffer.ts'

/** A binary jsonb field: its length in four bytes, a byte with the version, and the JSON text. */
const lengthBytes = 4
const versionBytes = 1
const jsonbVersion = 1

/**
 * Writes a JSON text as a field of a JSONB column. Throws `UnstorableValue` for a text that PostgreSQL would reject:
 * invalid JSON, `\u0000`, lone surrogates, numbers beyond numeric. Otherwise a single such value would end the whole
 * load.
 */
export function writeJson(text: string, out: TupleBuffer): void {
  // Rejects a text that is too long before parsing it.
  checkValueBytes(text.length)
  checkJson(text)
  const start = out.at
  const textStart = start + lengthBytes + versionBytes
  out.reserve(lengthBytes + versionBytes + checkValueBytes(Buffer.byteLength(text)))
  const textBytes = out.bytes.write(text, textStart, 'utf8')
  out.view.setInt32(start, versionBytes + textBytes)
  out.bytes[start + lengthBytes] = jsonbVersion
  out.at = textStart + textBytes
}

/** Throws `UnstorableValue` if PostgreSQL would reject the text as JSONB. */
export function checkJson(text: string): void {
  // Checking each value takes time, so it is only done for a text with escapes or very long numbers.
  const needsValueChecks = text.includes('\\u') || /[eE][+-]?\d{4}/.test(text) || /\d{9999}/.test(text)
  try {
    if (needsValueChecks) JSON.parse(text, checkMember)
    else JSON.parse(text)
  } catch (error) {
    if (error instanceof UnstorableValue) throw error
    throw new UnstorableValue('is not valid JSON')
  }
  if (!text.isWellFormed()) throw new UnstorableValue('holds half a character (a lone surrogate)')
}

/** The reviver of `JSON.parse`: checks a key and its value, and returns the value. Throws `UnstorableValue`. */
function checkMember(this: unknown, key: string, value: unknown, context?: { source?: string }): unknown {
  checkString(key)
  if (typeof value === 'string') checkString(value)
  if (typeof value === 'number') checkNumber(context?.source ?? '')
  return value
}

function checkString(text: string): void {
  if (text.includes('\0'))
    throw new UnstorableValue('holds a NUL character (\\u0000), which JSON in the warehouse cannot')
  if (!text.isWellFormed()) throw new UnstorableValue('holds half a character (a lone surrogate)')
}

/**
 * Throws `UnstorableValue` for a number that JSONB cannot store. JSONB stores numbers as numeric, with at most 131,072
 * digits before and 16,383 after the decimal point.
 */
function checkNumber(source: string): void {
  const [digits = '', exponent = '0'] = source.toLowerCase().split('e')
  const fraction = digits.split('.')[1]?.length ?? 0
  const power = Number(exponent)
  if (digits.length + power > 131_000 || fraction - power > 16_383)
    throw new UnstorableValue('holds a number with more digits than the warehouse can store')
}
