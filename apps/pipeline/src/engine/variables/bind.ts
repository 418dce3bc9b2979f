import { identifierOf, listOf, partsOf, valueOf } from './place-variables.ts'
import { type Piece, sqlPieces } from './sql-pieces.ts'
import { VariableProblem } from './variable-problem.ts'

/** More than anybody needs, and few enough for `$99` to be shorter than any `${name}`. */
const most = 99

/** Only checks bind variables, and a request that runs a check can pass values. */
const advice = 'Create it, correct its name, or pass its value in `variables` of the run.'

/** SQL whose variables are bind parameters. */
export interface Bound {
  text: string
  values: string[]
  /** Places of values that are texts even where they look like numbers. */
  texts: ReadonlySet<number>
  /** The variables that were used. */
  names: ReadonlySet<string>
}

/**
 * SQL in which every `${name}` is a bind parameter, each with a number of its own, so that one variable may be compared with
 * columns of several types. `'${name}'` is one as well, `${name:list}` several, `${name:identifier}` a quoted identifier. Places in the text stay
 * what they were, for the server's error positions, unless a list or an identifier is longer than what was written. In comments nothing is
 * replaced. Throws `VariableProblem` for names that are not known, and for any other use inside of quotes and names.
 */
export function bindVariables(sql: string, variables: ReadonlyMap<string, string>): Bound {
  const values: string[] = []
  const texts = new Set<number>()
  const names = new Set<string>()
  let text = ''
  // Parsing everything first reports a misplaced variable before an unknown one.
  const parts = [...partsOf(withoutParameters(sqlPieces(sql)))]
  for (const part of parts) {
    if (!('name' in part)) {
      text += part.text
      continue
    }
    names.add(part.name)
    const value = valueOf(part.name, variables, advice)
    if (part.use === 'TEXT') texts.add(values.length)
    const written =
      part.use === 'IDENTIFIER'
        ? `"${identifierOf(part.name, value)}"`
        : part.use === 'LIST'
          ? listOf(value).map(parameter).join(', ') || 'null'
          : parameter(value)
    text += written.padEnd(part.text.length)
  }
  return { text, values, texts, names }

  function parameter(value: string): string {
    values.push(value)
    if (values.length > most)
      throw new VariableProblem(
        'VARIABLE_MISPLACED',
        `The query uses variables more than ${most} times. Name each once, in a WITH.`,
      )
    return `$${values.length}`
  }
}

/** The names of the variables that SQL uses. Those in comments are none, and neither are those that it may not use where they are. */
export function variablesInSql(sql: string): Set<string> {
  const names = new Set<string>()
  for (const { kind, text } of sqlPieces(sql)) {
    const inside =
      kind === 'variable' ? text.slice(2, -1) : kind === 'literal' ? /^'\$\{([^{}\n:]*)\}'$/.exec(text)?.[1] : undefined
    if (inside !== undefined) names.add(inside.split(':')[0]!.trim())
  }
  return names
}

function* withoutParameters(pieces: Iterable<Piece>): Generator<Piece> {
  for (const piece of pieces) {
    if (piece.kind === 'parameter')
      throw new VariableProblem(
        'VARIABLE_MISPLACED',
        `The query uses ${piece.text}, which stands for nothing here. Write \${name} for a variable.`,
      )
    yield piece
  }
}
