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
  const substringPattern = createSubstringPattern(secured)

  const redactText = (text: string): string => {
    if (securedValues.has(text)) return redactedText
    return substringPattern ? text.replace(substringPattern, redactedText) : text
  }
  const redactCell = (cell: RowCell): RowCell => {
    if (securedValues.size === 0 || cell === null || typeof cell === 'boolean') return cell
    if (typeof cell === 'string') return redactText(cell)
    if (typeof cell === 'number') return securedValues.has(String(cell)) ? redactedText : cell
    if (Array.isArray(cell)) return cell.map(redactCell)
    // A number that JavaScript cannot represent exactly is an object with its digits.
    const digits = exactNumberOf(cell)
    if (digits !== undefined) return securedValues.has(digits) ? redactedText : cell
    return Object.fromEntries(Object.entries(cell).map(([key, item]) => [redactText(key), redactCell(item as RowCell)]))
  }
  return { text: redactText, cell: redactCell }
}

/** Returns a pattern that matches the values as whole words, longer ones first. Undefined if all are too short. */
function createSubstringPattern(values: readonly string[]): RegExp | undefined {
  const longestFirst = values.filter(({ length }) => length >= minLength).toSorted((a, b) => b.length - a.length)
  if (longestFirst.length === 0) return undefined
  return new RegExp(longestFirst.map((value) => wholeWords(value)).join('|'), 'giu')
}
