/** A value bound to a statement. Numbers are integers. */
export type BoundValue = string | number | boolean | null

/** A statement with bound values, independent of the server's placeholder syntax. */
export interface SqlStatement {
  /** The texts before, between and after the values: one more than there are values. */
  texts: readonly string[]
  values: readonly BoundValue[]
}

/** A part of a statement that is not bound: a quoted name, a type, or a list of them. The caller ensures that it is safe SQL. */
export class SqlFragment {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

export const sqlFragment = (text: string): SqlFragment => new SqlFragment(text)

export const sqlList = (texts: readonly string[], between = ', '): SqlFragment => new SqlFragment(texts.join(between))

/** Builds a statement. The text of an `SqlFragment` becomes part of the statement, and every other value is bound. */
export function sql(strings: TemplateStringsArray, ...parts: readonly (SqlFragment | BoundValue)[]): SqlStatement {
  const texts = [strings[0]!]
  const values: BoundValue[] = []
  for (const [index, part] of parts.entries()) {
    const textAfterPart = strings[index + 1]!
    if (part instanceof SqlFragment) texts[texts.length - 1] += part.text + textAfterPart
    else {
      values.push(part)
      texts.push(textAfterPart)
    }
  }
  return { texts, values }
}

/** A statement that needs no values. */
export const plainSql = (text: string): SqlStatement => ({ texts: [text], values: [] })

/** Returns the text, with the server's placeholder for each value, counted from 1. */
export const formatStatement = ({ texts }: SqlStatement, placeholder: (number: number) => string): string =>
  texts.reduce((text, next, index) => `${text}${placeholder(index)}${next}`)
