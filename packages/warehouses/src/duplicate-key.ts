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
  /** The key. Undefined if SQL statements changed the rows, because the source may not contain the key then. */
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

/**
 * Returns the message about a duplicate key. `positions` names the rows in the source, such as `lines 2 and 3 of
 * stock.csv`; without it, the message has the number of rows.
 */
function describeDuplicate(
  table: string,
  { keys, values, rows }: DuplicateKey,
  { positions, isTransformed = false }: { positions?: string; isTransformed?: boolean },
): string {
  const key = describeKey(keys, values)
  const rowCount = `${rows.toLocaleString('en')} rows`
  if (isTransformed)
    return `Nothing was loaded into ${table}, because ${rowCount} have the same key (${key}) after the SQL statements of the pipeline. Correct the statements or the source, or choose another key.`
  return `Nothing was loaded into ${table}, because ${positions ?? `${rowCount} of the source`} have the same key (${key}). Correct the source, or choose another key.`
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
 * Searches a staging table with `findDuplicates`. Returns the problem if several rows have the same key, and undefined
 * if all keys are unique. `cause` is the error that led to the search, if there is one.
 *
 * `StagedTable.write` keeps only those rows of a key that have the greatest values in the precedence columns. So the
 * rows that remain have the same values in these columns too, unless a transformation has changed the rows. The problem
 * then also has these values.
 */
export async function findDuplicateKeyProblem(
  { qualifiedName, keys, target, transformed: isTransformed }: LoadWithKey,
  findDuplicates: FindDuplicates,
  cause?: unknown,
): Promise<DuplicateKeyProblem | undefined> {
  const duplicate = await findDuplicates(keys)
  if (!duplicate) return undefined
  const options = { isTransformed, ...(cause !== undefined && { cause }) }
  const precedenceColumns = isTransformed ? [] : (target.precedence ?? [])
  const duplicateWithPrecedence =
    precedenceColumns.length > 0 ? await findDuplicates([...keys, ...precedenceColumns]) : undefined
  if (!duplicateWithPrecedence) return new DuplicateKeyProblem(qualifiedName, { keys, ...duplicate }, options)
  const { values, rows } = duplicateWithPrecedence
  const keyValues = values.slice(0, keys.length)
  const precedenceValues = values.slice(keys.length)
  const precedence = new Map(precedenceColumns.map((name, index) => [name, precedenceValues[index]!]))
  return new DuplicateKeyProblem(qualifiedName, { keys, values: keyValues, rows }, { ...options, precedence })
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
