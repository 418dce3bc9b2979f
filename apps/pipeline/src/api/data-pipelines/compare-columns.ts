import type { FeedMemory } from '../../engine/warehouses/shape/feed-memory.ts'

const mostNamed = 20

/** Returns a sentence on the columns that differ from the last load's, or undefined if none differ. */
export function compareColumns(last: FeedMemory, now: readonly { name: string; label: string }[]): string | undefined {
  const before = last.columns.filter(({ vanished }) => !vanished)
  const names = new Set(now.map(({ name }) => name))
  const known = new Set(last.columns.map(({ name }) => name))
  const missing = before.filter(({ name }) => !names.has(name))
  const added = now.filter(({ name }) => !known.has(name))
  if (missing.length === before.length && before.length > 0)
    return `The file has no column of the last load, so a run would fail: ${named(before)}. It has ${named(now)}.`
  const sentences = [
    ...(missing.length > 0 ? [`Columns of the last load that the file does not have: ${named(missing)}.`] : []),
    ...(added.length > 0 ? [`Columns that the last load did not have: ${named(added)}.`] : []),
  ]
  return sentences.length > 0 ? sentences.join(' ') : undefined
}

function named(columns: readonly { label: string }[]): string {
  const shown = columns.slice(0, mostNamed).map(({ label }) => `"${label.slice(0, 100)}"`)
  return columns.length > mostNamed ? `${shown.join(', ')} and ${columns.length - mostNamed} more` : shown.join(', ')
}
