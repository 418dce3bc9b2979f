import { type ColumnOptions, notUsable } from './options.ts'

/** What was said about columns, in the order of the labels. Throws DelimitedProblem OPTIONS_NOT_USABLE for a column that is not there. */
export function columnOptions(
  labels: readonly string[],
  columns: readonly ColumnOptions[],
): (ColumnOptions | undefined)[] {
  const placed: (ColumnOptions | undefined)[] = labels.map(() => undefined)
  for (const column of columns) {
    const index = placeOf(column, labels)
    if (placed[index]) throw notUsable(`Two of the columns in the options mean ${shown(column)}`)
    placed[index] = column
  }
  return placed
}

function placeOf(column: ColumnOptions, labels: readonly string[]): number {
  const { index, label } = column
  if (index !== undefined) {
    if (index >= labels.length)
      throw notUsable(`The options name ${shown(column)}, but the file has only ${labels.length}`)
    if (label === undefined || labels[index] === label) return index
    throw notUsable(
      `The options say that ${shown({ index })} is called "${label}"; the file calls it "${labels[index]}"`,
    )
  }
  const found = labels.indexOf(label!)
  if (found < 0) throw notUsable(`The options name ${shown(column)}, which the file does not have`)
  if (labels.indexOf(label!, found + 1) < 0) return found
  throw notUsable(`The file has several columns called "${label}"; say which one by its index`)
}

const shown = ({ index, label }: ColumnOptions) =>
  index === undefined ? `the column "${label}"` : `column ${index + 1}`
