/** A table as lines of cells, the header first. */
export type Lines = readonly (readonly string[])[]

/**
 * Returns the Pollock score of a loaded table, from 0 to 10: 1 if the file was loaded at all, and precision, recall and F1 of the header
 * cells, of the records and of all cells, as bags. A record is the text of its cells without delimiters. Header cells and the cells of
 * records are normalized before. All measures are 1 if there is nothing to find. `loaded` is undefined if the file was refused.
 */
export function pollockScore(clean: Lines, loaded: Lines | undefined): number {
  if (!loaded) return 0
  if (clean.length === 0) return 10
  const header = ([first = []]: Lines) => first.map(normalized)
  const records = ([, ...rows]: Lines) => rows.map((row) => row.map(normalized).join(''))
  const cells = (lines: Lines) => lines.flat()
  return (
    1 +
    measures(header(clean), header(loaded)) +
    measures(records(clean), records(loaded)) +
    measures(cells(clean), cells(loaded))
  )
}

/** Returns a cell without case, with whole numbers as numbers, times with seconds, and texts with an amount of dollars as this amount. */
function normalized(cell: string): string {
  const text = cell.trim()
  if (/^[-+]?\d+$/.test(text)) return String(BigInt(text))
  if (/^\d{1,2}:\d\d$/.test(text)) return `${text}:00`
  const amount = /\$\s*(\d+(\.\d+)?)/.exec(text)
  return amount ? `$${Number(amount[1])}` : cell.toLowerCase()
}

/** Returns the sum of precision, recall and F1. */
function measures(wanted: readonly string[], loaded: readonly string[]): number {
  if (wanted.length === 0) return 3
  const left = new Map<string, number>()
  for (const one of wanted) left.set(one, (left.get(one) ?? 0) + 1)
  let common = 0
  for (const one of loaded) {
    const times = left.get(one) ?? 0
    if (times === 0) continue
    left.set(one, times - 1)
    common++
  }
  if (common === 0) return 0
  const precision = common / loaded.length
  const recall = common / wanted.length
  return precision + recall + (2 * precision * recall) / (precision + recall)
}
