import { UnstorableValue, type TupleBuffer, checkValueBytes } from './tuple-buffer.ts'

/** The version byte of binary jsonb. */
const jsonbVersion = 1

/**
 * Writes a JSON text as a field of a JSONB column. Throws `UnstorableValue` for a text that PostgreSQL would reject:
 * invalid JSON, `\u0000`, lone surrogates, numbers beyond numeric. Otherwise a single such value would end the whole
 * load.
 */
export function writeJson(text: string, out: TupleBuffer): void {
  checkValueBytes(text.length)
  checkJson(text)
  const start = out.at
  out.reserve(5 + checkValueBytes(Buffer.byteLength(text)))
  const bytes = out.bytes.write(text, start + 5, 'utf8')
  out.view.setInt32(start, bytes + 1)
  out.bytes[start + 4] = jsonbVersion
  out.at = start + 5 + bytes
}

/** Throws `UnstorableValue` if PostgreSQL would reject the text as JSONB. */
export function checkJson(text: string): void {
  const isSuspicious = text.includes('\\u') || /[eE][+-]?\d{4}/.test(text) || /\d{9999}/.test(text)
  try {
    if (isSuspicious) JSON.parse(text, checkPart)
    else JSON.parse(text)
  } catch (error) {
    if (error instanceof UnstorableValue) throw error
    throw new UnstorableValue('is not valid JSON')
  }
  if (!text.isWellFormed()) throw new UnstorableValue('holds half a character (a lone surrogate)')
}

function checkPart(this: unknown, key: string, value: unknown, context?: { source?: string }): unknown {
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
