const gap = 2

/**
 * Formats rows as lines of aligned text, no wider than `width`. Long cells are cut, and columns that do not fit are
 * left out. `right` names the columns with numbers. Control characters of cells do not reach the terminal.
 */
export function textTable(
  rows: readonly (readonly unknown[])[],
  { width, right }: { width: number; right: readonly boolean[] },
): { lines: string[]; columnsShown: number } {
  const widest = Math.max(12, Math.min(40, Math.floor(width / 5)))
  const cells = rows.map((row) => row.map((cell) => fitted(printable(cell), widest)))
  const columns = Math.max(0, ...cells.map((row) => row.length))
  const widths: number[] = []
  let used = 0
  for (let column = 0; column < columns; column++) {
    const needed = Math.max(...cells.map((row) => lengthOf(row[column] ?? '')))
    if (column > 0 && used + gap + needed > width) break
    widths.push(needed)
    used += needed + (column > 0 ? gap : 0)
  }
  const lines = cells.map((row) =>
    widths
      .map((size, column) => aligned(row[column] ?? '', size, right[column] ?? false))
      .join(' '.repeat(gap))
      .trimEnd(),
  )
  return { lines, columnsShown: widths.length }
}

/** Formats a value as one printable line: line breaks become ⏎, other control characters a dot, and null a dash. */
export function printable(value: unknown): string {
  if (value === null || value === undefined) return '–'
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.replaceAll(/\r\n|\r|\n/g, '⏎').replaceAll(/[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/gu, '·')
}

const lengthOf = (text: string): number => [...text].length

const fitted = (text: string, most: number): string =>
  lengthOf(text) > most ? `${[...text].slice(0, most - 1).join('')}…` : text

function aligned(text: string, size: number, right: boolean): string {
  const padding = ' '.repeat(size - lengthOf(text))
  return right ? padding + text : text + padding
}
