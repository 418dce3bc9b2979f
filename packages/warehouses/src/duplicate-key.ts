import { WarehouseProblem } from './warehouse.ts'

/** A key that several rows share. The values are as the warehouse prints them. */
export interface DuplicateKey {
  keys: readonly string[]
  values: readonly string[]
  /** The number of rows with the key. */
  rows: number
}

/** The result of a search for a duplicate key: the values of the searched columns, and the number of rows with them. */
export type DuplicateValues = Pick<DuplicateKey, 'values' | 'rows'>

/** Several rows of a load have the same key. */
export class DuplicateKeyProblem extends WarehouseProblem {
  /** The key. Undefined if SQL statements changed the rows, because the source need not have it. */
  readonly key: DuplicateKey | undefined
  /**
   * The values of the columns that say which of several rows with the same key counts, if the load has such columns. All
   * rows with the key have the same values in them.
   */
  readonly precedence: ReadonlyMap<string, string>
  readonly #table: string

  constructor(
    table: string,
    duplicate: DuplicateKey,
    { precedence = new Map(), isTransformed = false, ...options }: DuplicateKeyOptions = {},
  ) {
    super('DUPLICATE_KEY', describeDuplicate(table, duplicate, { isTransformed }), options)
    this.#table = table
    this.key = isTransformed ? undefined : duplicate
    this.precedence = precedence
  }

  /** Returns the problem with the rows' positions in the source, such as `lines 2 and 3 of stock.csv`. */
  withPositions(positions: string): WarehouseProblem {
    const sentence = this.key ? describeDuplicate(this.#table, this.key, { positions }) : this.sentence
    return new WarehouseProblem(this.code, sentence, { cause: this })
  }
}

interface DuplicateKeyOptions extends ErrorOptions {
  precedence?: ReadonlyMap<string, string>
  /** Whether SQL statements of the pipeline changed the rows. */
  isTransformed?: boolean
}

function describeDuplicate(
  table: string,
  { keys, values, rows }: DuplicateKey,
  {
    positions = `${rows.toLocaleString('en')} rows of the source`,
    isTransformed = false,
  }: { positions?: string; isTransformed?: boolean },
): string {
  const key = describeKey(keys, values)
  return isTransformed
    ? `Nothing was loaded into ${table}, because ${rows.toLocaleString('en')} rows have the same key (${key}) after the SQL statements of the pipeline. Correct the statements or the source, or choose another key.`
    : `Nothing was loaded into ${table}, because ${positions} have the same key (${key}). Correct the source, or choose another key.`
}

/**
 * Returns the problem for duplicate keys among rows that the table had before the load. They are possible because those
 * rows were loaded with another key or none.
 */
export const duplicateKeyInTable = (
  { qualifiedName, keys }: { qualifiedName: string; keys: readonly string[] },
  { values }: DuplicateValues,
): WarehouseProblem =>
  new WarehouseProblem(
    'DUPLICATE_KEY',
    `Rows of earlier loads in ${qualifiedName} have the same key (${describeKey(keys, values)}); the source of this load need not be changed. Choose another key, or run once with "rebuild": true, which replaces all rows of the table, and load the earlier data again.`,
  )

interface LoadWithKey {
  readonly qualifiedName: string
  readonly keys: readonly string[]
  readonly target: { readonly precedence?: readonly string[] }
  readonly transformed: boolean
}

/** Finds values of the columns that several rows share. Returns undefined without such values. */
export type FindDuplicates = (columns: readonly string[]) => Promise<DuplicateValues | undefined>

/**
 * Returns the problem if rows of a staging table have the same key, and undefined if all keys are unique. `find` searches
 * the staging table.
 */
export async function findDuplicateKeyProblem(
  { qualifiedName, keys, target, transformed: isTransformed }: LoadWithKey,
  find: FindDuplicates,
  cause?: unknown,
): Promise<DuplicateKeyProblem | undefined> {
  const duplicate = await find(keys)
  if (!duplicate) return undefined
  const { precedence = [] } = target
  // `StagedTable.write` keeps only the rows with the greatest precedence of each key. So rows that share a key share
  // these values too, unless a transformation has changed them.
  const sharesPrecedence = precedence.length > 0 && !isTransformed
  const duplicateWithPrecedence = sharesPrecedence ? await find([...keys, ...precedence]) : undefined
  const { values, rows } = duplicateWithPrecedence ?? duplicate
  const precedenceValues = values.slice(keys.length)
  return new DuplicateKeyProblem(
    qualifiedName,
    { keys, values: values.slice(0, keys.length), rows },
    {
      isTransformed,
      ...(duplicateWithPrecedence && {
        precedence: new Map(precedence.map((name, index) => [name, precedenceValues[index]!])),
      }),
      ...(cause !== undefined && { cause }),
    },
  )
}

/** Maximum length of a key that a message quotes, in UTF-16 units. */
const maxDescribedKeyLength = 100

/** Formats a key: `Case No = 4, Year = 2026`. */
export function describeKey(keys: readonly string[], values: readonly unknown[]): string {
  const text = keys
    .map(
      (name, index) => `${name} = ${typeof values[index] === 'string' ? values[index] : JSON.stringify(values[index])}`,
    )
    .join(', ')
  return text.length > maxDescribedKeyLength ? `${text.slice(0, maxDescribedKeyLength).toWellFormed()}…` : text
}
