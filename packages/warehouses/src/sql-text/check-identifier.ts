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

/** Creates the INVALID_NAME problem. `reason` is the end of the sentence about the name, such as `is empty`. */
export function refusedName(kind: string, name: string, reason: string): WarehouseProblem {
  const quotedName = JSON.stringify(name.toWellFormed().slice(0, 80))
  return new WarehouseProblem('INVALID_NAME', `The ${kind} name ${quotedName} ${reason}. Choose another name.`)
}

/**
 * Throws `WarehouseProblem` if the load has no columns, if `check` throws for a column name, or if two columns have the
 * same name.
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

/**
 * Makes the column names of a result unique: the second `id` becomes `id_2`, or `id_3` if another column has the name
 * `id_2`.
 */
export function uniqueNames(names: readonly string[]): string[] {
  const originalNames = new Set(names)
  const result = new Set<string>()
  for (const original of names) {
    let name = original
    if (result.has(original)) {
      let suffix = 2
      while (result.has(`${original}_${suffix}`) || originalNames.has(`${original}_${suffix}`)) suffix += 1
      name = `${original}_${suffix}`
    }
    result.add(name)
  }
  return [...result]
}
