import { wholeWords } from '@sluice/process'
import { exactNumberOf } from '@sluice/warehouses/rows/json-cell'
import type { RowCell } from '@sluice/warehouses/warehouse'

const redactedText = '[redacted]'

/** Values shorter than this are not redacted within longer text, because they occur in too many other words. */
const minLength = 4

/**
 * Returns functions that redact the values of secured variables in the result of a check: cells that equal a value, and
 * occurrences within text. This prevents only accidental disclosure, because authors of checks can return expressions
 * that are computed from a value.
 */
export function createRedactor(secured: readonly string[]) {
  const securedValues = new Set(secured)
  const longestFirst = secured.filter(({ length }) => length >= minLength).toSorted((a, b) => b.length - a.length)
  const pattern =
    longestFirst.length > 0 ? new RegExp(longestFirst.map((value) => wholeWords(value)).join('|'), 'giu') : undefined

  const text = (original: string): string => {
    if (securedValues.has(original)) return redactedText
    return pattern ? original.replace(pattern, redactedText) : original
  }
  const cell = (value: RowCell): RowCell => {
    if (securedValues.size === 0 || value === null || typeof value === 'boolean') return value
    if (typeof value === 'string') return text(value)
    if (typeof value === 'number') return securedValues.has(String(value)) ? redactedText : value
    if (Array.isArray(value)) return value.map(cell)
    const digits = exactNumberOf(value)
    if (digits !== undefined) return securedValues.has(digits) ? redactedText : value
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [text(key), cell(item as RowCell)]))
  }
  return { text, cell }
}
