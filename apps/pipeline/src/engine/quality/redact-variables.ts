import { wholeWords } from '../redact-secrets.ts'
import type { Cell } from '../warehouses/warehouse.ts'

const hidden = '[redacted]'

/** Shorter values stand in too many other words to be looked for inside of them. */
const shortest = 4

/**
 * Takes the values of secured variables out of what a check says: cells that are one, and texts that one stands in.
 * It keeps them from being shown by accident. Whoever may write checks can reckon with a value that they may use, and
 * show what comes of that.
 */
export function hider(secured: readonly string[]) {
  const exact = new Set(secured)
  const longestFirst = secured.filter(({ length }) => length >= shortest).toSorted((a, b) => b.length - a.length)
  const pattern =
    longestFirst.length > 0 ? new RegExp(longestFirst.map((value) => wholeWords(value)).join('|'), 'giu') : undefined

  const text = (words: string): string => {
    if (exact.has(words)) return hidden
    return pattern ? words.replace(pattern, hidden) : words
  }
  const cell = (value: Cell): Cell => {
    if (exact.size === 0 || value === null || typeof value === 'boolean') return value
    if (typeof value === 'string') return text(value)
    if (typeof value === 'number') return exact.has(String(value)) ? hidden : value
    if (Array.isArray(value)) return value.map(cell)
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [text(key), cell(part as Cell)]))
  }
  return { text, cell }
}
