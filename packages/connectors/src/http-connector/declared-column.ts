import type { DataType } from '@sluice/contracts'

/** A column that the system or its settings declare. */
export interface KnownColumn {
  /** The path in the record, such as `address.city`. */
  path: string
  label?: string
  dataType?: DataType
  /** True if the column is created even if no record contains it. */
  isAlwaysCreated?: boolean
  /** The groups that contain the column, from the outermost. Absent for columns of the record itself. */
  groups?: readonly string[]
}

export const declareColumns = (dataType: DataType, paths: readonly string[]): KnownColumn[] =>
  paths.map((path) => ({ path, dataType }))

/**
 * Returns the text column of a form question. It belongs to the table of the innermost repeat group, and its path is
 * relative to that group. `isRepeatGroup` receives the first names of the question's path, such as `['home',
 * 'child']` of `['home', 'child', 'age']`.
 */
export function createQuestionColumn(
  names: readonly string[],
  isRepeatGroup: (names: readonly string[]) => boolean,
  separator: '.' | '/',
): KnownColumn {
  const groups: string[] = []
  let namesInGroup: string[] = []
  names.forEach((name, index) => {
    namesInGroup.push(name)
    if (!isRepeatGroup(names.slice(0, index + 1))) return
    groups.push(namesInGroup.join(separator))
    namesInGroup = []
  })
  return { path: namesInGroup.join(separator), dataType: 'TEXT', ...(groups.length > 0 && { groups }) }
}
