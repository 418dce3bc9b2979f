import { SourceProblem } from '../../source.ts'

/** A tab of a spreadsheet that has cells. */
export interface Tab {
  id: string
  title: string
  rows: number
  columns: number
}

/** Cells that are read, as they are counted in Google's addresses: from 1, both ends among them. */
export interface Cells {
  fromRow: number
  toRow: number
  fromColumn: number
  toColumn: number
}

const range = /^([A-Z]+)(\d*)(?::([A-Z]+)(\d*))?$/

/** What is meant by `A1:F500`, `B:D`, `C2` or `A2:F`, as far as the tab has it; the whole tab where there is no range. Throws `SourceProblem`. */
export function cellsOf(tab: Tab, given?: string): Cells {
  const { rows, columns } = tab
  if (given === undefined) return { fromRow: 1, toRow: rows, fromColumn: 1, toColumn: columns }
  const [, left = '', top = '', right = left, bottom = given.includes(':') ? '' : top] = range.exec(given) ?? []
  const cells = {
    fromRow: Math.max(1, Number(top)),
    toRow: Math.min(rows, bottom === '' ? rows : Number(bottom)),
    fromColumn: columnNumber(left),
    toColumn: Math.min(columns, columnNumber(right)),
  }
  if (left !== '' && cells.fromRow <= cells.toRow && cells.fromColumn <= cells.toColumn) return cells
  throw new SourceProblem(
    'RANGE_INVALID',
    `The sheet "${tab.title}" ends at ${letters(columns)}${rows}, so it has no cells in ${given}: write the upper left cell first, as in A1:F500.`,
  )
}

/** As Google wants it: `'Tab'!A1:F500`. */
export const addressOf = (tab: Tab, { fromRow, toRow, fromColumn, toColumn }: Cells): string =>
  `'${tab.title.replaceAll("'", "''")}'!${letters(fromColumn)}${fromRow}:${letters(toColumn)}${toRow}`

const columnNumber = (name: string): number =>
  [...name].reduce((number, letter) => number * 26 + letter.charCodeAt(0) - 64, 0)

function letters(column: number): string {
  let name = ''
  for (let left = column; left > 0; left = Math.floor((left - 1) / 26))
    name = String.fromCharCode(65 + ((left - 1) % 26)) + name
  return name
}
