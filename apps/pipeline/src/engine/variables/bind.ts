import { sqlPieces } from './sql-pieces.ts'
import { misplacedVariable, unknownVariable, VariableProblem } from './variable-problem.ts'

/** More than anybody needs, and few enough for `$99` to be shorter than any `${name}`. */
const most = 99

/**
 * SQL in which every `${name}` is a bind parameter, each with a number of its own, so that one variable may be compared with
 * columns of several types. Places in the text stay what they were, for the server's error positions. In comments nothing is
 * replaced. Throws `VariableProblem` for names that are not known, and for variables inside of quotes and names.
 */
export function bindVariables(sql: string, variables: ReadonlyMap<string, string>): { text: string; values: string[] } {
  const values: string[] = []
  let text = ''
  let last = ''
  for (const piece of sqlPieces(sql)) {
    if (piece.kind === 'variable') text += parameter(piece.text, last)
    else {
      refuse(piece)
      text += piece.text
    }
    last = piece.kind
  }
  return { text, values }

  function parameter(written: string, before: string): string {
    const name = written.slice(2, -1).trim()
    if (before === 'word')
      throw misplacedVariable(
        name,
        'stands right behind a word. Put a space between them; a variable is a value, not a part of a name.',
      )
    const value = variables.get(name)
    if (value === undefined) throw unknownVariable(name)
    values.push(value)
    if (values.length > most)
      throw new VariableProblem(
        'VARIABLE_MISPLACED',
        `The query uses variables more than ${most} times. Name each once, in a WITH.`,
      )
    return `$${values.length}`.padEnd(written.length)
  }
}

/** The names of the variables that SQL uses. Those in comments are none, and neither are those that it may not use where they are. */
export function variablesInSql(sql: string): Set<string> {
  const names = new Set<string>()
  for (const { kind, text } of sqlPieces(sql)) if (kind === 'variable') names.add(text.slice(2, -1).trim())
  return names
}

function refuse({ kind, text }: { kind: string; text: string }): void {
  if (kind === 'parameter')
    throw new VariableProblem(
      'VARIABLE_MISPLACED',
      `The query uses ${text}, which stands for nothing here. Write \${name} for a variable.`,
    )
  const inside = kind === 'literal' || kind === 'quoted name' ? /\$\{([^{}\n]*)\}/.exec(text)?.[1] : undefined
  if (inside === undefined) return
  throw kind === 'literal'
    ? misplacedVariable(
        inside,
        'stands inside of quotes. Leave them out: the variable is a value by itself; || joins it with other text.',
      )
    : misplacedVariable(
        inside,
        'stands inside of a quoted name. A variable is a value and cannot name a table or column.',
      )
}
