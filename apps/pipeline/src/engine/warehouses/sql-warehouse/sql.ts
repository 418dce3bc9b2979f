/** A value as it is bound to a statement. Numbers are whole ones. */
export type Value = string | number | boolean | null

/** A statement whose values are bound, whatever mark the server wants where they go. */
export interface Sql {
  /** What stands before, between and behind the values: one more than there are. */
  texts: readonly string[]
  values: readonly Value[]
}

/** A piece of a statement as it stands: a quoted name, a type, a list of them. */
export class Piece {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

export const piece = (text: string): Piece => new Piece(text)

/** Pieces with something between them. */
export const listed = (texts: readonly string[], between = ', '): Piece => new Piece(texts.join(between))

/** Builds a statement: pieces become part of its text, everything else is bound. */
export function sql(strings: TemplateStringsArray, ...parts: readonly (Piece | Value)[]): Sql {
  const texts = [strings[0]!]
  const values: Value[] = []
  for (const [index, part] of parts.entries()) {
    const after = strings[index + 1]!
    if (part instanceof Piece) texts[texts.length - 1] += part.text + after
    else {
      values.push(part)
      texts.push(after)
    }
  }
  return { texts, values }
}

/** A statement that needs no values. */
export const plain = (text: string): Sql => ({ texts: [text], values: [] })

/** Its text, with a mark of the server's own for each value, counted from 1. */
export const textOf = ({ texts }: Sql, mark: (number: number) => string): string =>
  texts.reduce((text, next, index) => `${text}${mark(index)}${next}`)
