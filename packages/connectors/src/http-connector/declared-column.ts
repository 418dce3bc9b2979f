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
 * Returns the text column of the question at a path of names, such as `['home', 'child', 'age']`. It belongs to the
 * table of the innermost repeat group, and its path is relative to that group. `isRepeatGroup` receives the first
 * names: `['home']`, then `['home', 'child']`, then all.
 */
export function createQuestionColumn(
  names: readonly string[],
  isRepeatGroup: (names: readonly string[]) => boolean,
  separator: '.' | '/',
): KnownColumn {
  const groups: string[] = []
  let startInGroup = 0
  for (let end = 1; end <= names.length; end += 1) {
    if (!isRepeatGroup(names.slice(0, end))) continue
    groups.push(names.slice(startInGroup, end).join(separator))
    startInGroup = end
  }
  const path = names.slice(startInGroup).join(separator)
  return { path, dataType: 'TEXT', ...(groups.length > 0 && { groups }) }
}
