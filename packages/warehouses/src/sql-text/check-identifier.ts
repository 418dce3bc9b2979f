import { type LoadTarget, WarehouseProblem } from '../warehouse.ts'

/**
 * The maximum length of a name in UTF-8 bytes. PostgreSQL silently truncates longer names, so two names could become
 * equal. The limit applies to all warehouses, so that a pipeline can move between them.
 */
const maximumBytes = 63

/**
 * Throws `WarehouseProblem` INVALID_NAME for a name that not every warehouse accepts. `kind` names the kind of object
 * in the message.
 */
export function checkIdentifier(kind: string, name: string): void {
  const bytes = Buffer.byteLength(name)
  if (bytes === 0) throw refusedName(kind, name, 'is empty')
  if (bytes > maximumBytes) throw refusedName(kind, name, `has ${bytes} bytes, and the maximum is ${maximumBytes}`)
  if (!name.isWellFormed()) throw refusedName(kind, name, 'is not valid Unicode')
  if (/\p{Cc}/u.test(name)) throw refusedName(kind, name, 'has control characters')
}

export function refusedName(kind: string, name: string, reason: string): WarehouseProblem {
  const quotedName = JSON.stringify(name.toWellFormed().slice(0, 80))
  return new WarehouseProblem('INVALID_NAME', `The ${kind} name ${quotedName} ${reason}. Choose another name.`)
}

/**
 * Throws `WarehouseProblem` unless the load has at least one column and each column has a unique name that passes
 * `check`.
 */
export function checkColumns(
  { columns }: Pick<LoadTarget, 'columns'>,
  qualifiedName: string,
  check: (name: string) => void,
): void {
  if (columns.length === 0)
    throw new WarehouseProblem(
      'NO_COLUMNS',
      `${qualifiedName} would have no columns. Check that the source has a header row.`,
    )
  const usedNames = new Set<string>()
  for (const { name } of columns) {
    check(name)
    if (usedNames.has(name))
      throw new WarehouseProblem(
        'INVALID_NAME',
        `The column name ${JSON.stringify(name)} is used twice. Rename one of the columns.`,
      )
    usedNames.add(name)
  }
}

/** Makes the column names of a result unique by adding a numeric suffix to repeated names. */
export function uniqueNames(names: readonly string[]): string[] {
  const usedNames = new Set(names)
  const seen = new Set<string>()
  return names.map((label) => {
    let name = label
    for (let number = 2; seen.has(name) || (number > 2 && usedNames.has(name)); number += 1) name = `${label}_${number}`
    seen.add(name)
    return name
  })
}
