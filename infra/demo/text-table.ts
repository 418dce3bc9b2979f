const gap = 2

/**
 * Formats rows as lines of aligned text, no wider than `width`. Long cells are cut, and columns that do not fit are
 * left out. `right` tells for each column whether it is aligned right. Control characters of cells do not reach the
 * terminal.
 */
export function textTable(
  rows: readonly (readonly unknown[])[],
  { width, right }: { width: number; right: readonly boolean[] },
): { lines: string[]; columnsShown: number } {
  const maxCellWidth = Math.max(12, Math.min(40, Math.floor(width / 5)))
  const cells = rows.map((row) => row.map((cell) => truncate(toPrintable(cell), maxCellWidth)))
  const columns = Math.max(0, ...cells.map((row) => row.length))
  const widths: number[] = []
  let usedWidth = 0
  for (let column = 0; column < columns; column++) {
    const needed = Math.max(...cells.map((row) => countCharacters(row[column] ?? '')))
    if (column > 0 && usedWidth + gap + needed > width) break
    widths.push(needed)
    usedWidth += needed + (column > 0 ? gap : 0)
  }
  const lines = cells.map((row) =>
    widths
      .map((size, column) => align(row[column] ?? '', size, right[column] ?? false))
      .join(' '.repeat(gap))
      .trimEnd(),
  )
  return { lines, columnsShown: widths.length }
}

/** Formats a value as one printable line: line breaks become ⏎, other control characters a dot, and null a dash. */
export function toPrintable(value: unknown): string {
  if (value === null || value === undefined) return '–'
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.replaceAll(/\r\n|\r|\n/g, '⏎').replaceAll(/[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/gu, '·')
}

const countCharacters = (text: string): number => [...text].length

const truncate = (text: string, maxLength: number): string =>
  countCharacters(text) > maxLength ? `${[...text].slice(0, maxLength - 1).join('')}…` : text

function align(text: string, size: number, right: boolean): string {
  const padding = ' '.repeat(size - countCharacters(text))
  return right ? padding + text : text + padding
}
