/** A value bound to a statement. Numbers must be integers. */
export type BoundValue = string | number | boolean | null

/** A SQL statement with bound values, independent of the server's placeholder syntax. */
export interface SqlStatement {
  /** The SQL before, between and after the values: always one text more than values. */
  texts: readonly string[]
  values: readonly BoundValue[]
}

/**
 * A part of a statement that is inserted as SQL instead of bound: a quoted name, a type, or a list of these. The caller
 * ensures that it is safe.
 */
export class SqlFragment {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

export const sqlFragment = (text: string): SqlFragment => new SqlFragment(text)

export const sqlList = (texts: readonly string[], between = ', '): SqlFragment => new SqlFragment(texts.join(between))

/** Template tag that builds a statement. An `SqlFragment` becomes part of the SQL; every other value is bound. */
export function sql(
  strings: TemplateStringsArray,
  ...substitutions: readonly (SqlFragment | BoundValue)[]
): SqlStatement {
  const texts = [strings[0]!]
  const values: BoundValue[] = []
  for (const [index, substitution] of substitutions.entries()) {
    const followingText = strings[index + 1]!
    if (substitution instanceof SqlFragment) {
      texts[texts.length - 1] += substitution.text + followingText
      continue
    }
    values.push(substitution)
    texts.push(followingText)
  }
  return { texts, values }
}

/** Returns a statement without values. */
export const plainSql = (text: string): SqlStatement => ({ texts: [text], values: [] })

/** Returns the statement's SQL with a placeholder of the server for each value. Placeholders are numbered from 1. */
export function formatStatement({ texts }: SqlStatement, placeholder: (number: number) => string): string {
  const [firstText = '', ...followingTexts] = texts
  let statement = firstText
  for (const [index, text] of followingTexts.entries()) statement += placeholder(index + 1) + text
  return statement
}
