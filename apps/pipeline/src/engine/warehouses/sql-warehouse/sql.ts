/** A value as it is bound to a statement. Numbers are whole ones. */
export type BoundValue = string | number | boolean | null

/** A statement whose values are bound, whatever mark the server wants where they go. */
export interface Sql {
  /** What stands before, between and behind the values: one more than there are. */
  texts: readonly string[]
  values: readonly BoundValue[]
}

/** A piece of a statement as it stands: a quoted name, a type, a list of them. */
export class SqlFragment {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

export const sqlFragment = (text: string): SqlFragment => new SqlFragment(text)

/** Pieces with something between them. */
export const sqlList = (texts: readonly string[], between = ', '): SqlFragment => new SqlFragment(texts.join(between))

/** Builds a statement: pieces become part of its text, everything else is bound. */
export function sql(strings: TemplateStringsArray, ...parts: readonly (SqlFragment | BoundValue)[]): Sql {
  const texts = [strings[0]!]
  const values: BoundValue[] = []
  for (const [index, part] of parts.entries()) {
    const after = strings[index + 1]!
    if (part instanceof SqlFragment) texts[texts.length - 1] += part.text + after
    else {
      values.push(part)
      texts.push(after)
    }
  }
  return { texts, values }
}

/** A statement that needs no values. */
export const plainSql = (text: string): Sql => ({ texts: [text], values: [] })

/** Its text, with a mark of the server's own for each value, counted from 1. */
export const textOf = ({ texts }: Sql, mark: (number: number) => string): string =>
  texts.reduce((text, next, index) => `${text}${mark(index)}${next}`)
