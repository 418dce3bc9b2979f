import { toIdentifier, splitListValue, splitAtVariables, getVariableValue } from './place-variables.ts'
import { type SqlPiece, splitSql } from './sql-pieces.ts'
import { VariableProblem } from './variable-problem.ts'

/** So that a parameter such as `$99` is shorter than any `${name}`. */
const maxParameters = 99

/** Only checks bind variables, and a request that runs a check can pass values. */
const advice = 'Create it, correct its name, or pass its value in `variables` of the run.'

/** SQL whose variables are bind parameters. */
export interface BoundQuery {
  text: string
  values: string[]
  /** Indexes of values that are texts even if they look like numbers. */
  texts: ReadonlySet<number>
  /** The variables that were used. */
  names: ReadonlySet<string>
}

/**
 * Replaces every `${name}` by its own bind parameter, so that a variable can be compared with columns of several types. `'${name}'`
 * becomes a parameter too, `${name:list}` several, and `${name:identifier}` a quoted identifier. Positions in the text stay the same for the
 * server's error positions, unless a list or an identifier is longer. Comments stay unchanged. Throws `VariableProblem` for unknown
 * names, and for any other use inside quotes and names.
 */
export function bindVariables(sql: string, variables: ReadonlyMap<string, string>): BoundQuery {
  const values: string[] = []
  const texts = new Set<number>()
  const names = new Set<string>()
  let text = ''
  // Parsing everything first reports a misplaced variable before an unknown one.
  const parts = [...splitAtVariables(withoutParameters(splitSql(sql)))]
  for (const part of parts) {
    if (!('name' in part)) {
      text += part.text
      continue
    }
    names.add(part.name)
    const value = getVariableValue(part.name, variables, advice)
    if (part.use === 'TEXT') texts.add(values.length)
    const written =
      part.use === 'IDENTIFIER'
        ? `"${toIdentifier(part.name, value)}"`
        : part.use === 'LIST'
          ? splitListValue(value).map(parameter).join(', ') || 'null'
          : parameter(value)
    text += written.padEnd(part.text.length)
  }
  return { text, values, texts, names }

  function parameter(value: string): string {
    values.push(value)
    if (values.length > maxParameters)
      throw new VariableProblem(
        'VARIABLE_MISPLACED',
        `The query uses variables more than ${maxParameters} times. Put each variable into a WITH clause once, and use that clause elsewhere.`,
      )
    return `$${values.length}`
  }
}

/** Returns the names of the variables that SQL uses, without those in comments and at places where variables are not allowed. */
export function variablesInSql(sql: string): Set<string> {
  const names = new Set<string>()
  for (const { kind, text } of splitSql(sql)) {
    const inside =
      kind === 'variable' ? text.slice(2, -1) : kind === 'literal' ? /^'\$\{([^{}\n:]*)\}'$/.exec(text)?.[1] : undefined
    if (inside !== undefined) names.add(inside.split(':')[0]!.trim())
  }
  return names
}

function* withoutParameters(pieces: Iterable<SqlPiece>): Generator<SqlPiece> {
  for (const piece of pieces) {
    if (piece.kind === 'parameter')
      throw new VariableProblem(
        'VARIABLE_MISPLACED',
        `The query uses ${piece.text}, which has no value here. Write \${name} for a variable.`,
      )
    yield piece
  }
}
