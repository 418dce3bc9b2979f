import {
  getVariableValue,
  splitAtVariables,
  splitListValue,
  toIdentifier,
  type VariablePart,
} from './insert-variables-into-sql.ts'
import { type SqlPiece, splitSql } from './split-sql.ts'
import { VariableProblem } from './variable-problem.ts'

/**
 * The limit of parameters in a query. A parameter such as `$99` is shorter than any `${name}`. It can thus be padded,
 * so that positions in the text stay the same.
 */
const maxParameters = 99

/**
 * The advice for an unknown variable. Only quality checks bind variables, and a request that runs a check can pass
 * their values.
 */
const unknownVariableAdvice = 'Create it, correct its name, or pass its value in `variables` of the run.'

/** SQL in which bind parameters have replaced the variables. */
export interface BoundQuery {
  text: string
  values: string[]
  /** The indexes of values that the database must treat as text, even if they look like numbers. */
  texts: ReadonlySet<number>
  /** The variables that were used. */
  names: ReadonlySet<string>
}

/**
 * Replaces variables by bind parameters. Each `${name}` and `'${name}'` becomes a parameter of its own, so that a
 * variable can be compared with columns of different types. `${name:list}` becomes several parameters, and
 * `${name:identifier}` a quoted identifier. Keeps the positions of the text, so that error positions of the database
 * are correct, unless a list or identifier is longer than its variable. Ignores comments. Throws `VariableProblem` for
 * unknown variables, and for any other use inside quotes.
 */
export function bindVariables(sql: string, variables: ReadonlyMap<string, string>): BoundQuery {
  const values: string[] = []
  const textIndexes = new Set<number>()
  const names = new Set<string>()
  let text = ''
  // Split the whole query first, so that a misplaced variable is reported before an unknown one.
  const sqlParts = [...splitAtVariables(assertNoParameters(splitSql(sql)))]
  for (const part of sqlParts) {
    if (!('name' in part)) {
      text += part.text
      continue
    }
    names.add(part.name)
    const value = getVariableValue(part.name, variables, unknownVariableAdvice)
    if (part.use === 'TEXT') textIndexes.add(values.length)
    // Fill up with spaces, so that the following text keeps its position.
    text += buildReplacement(part, value).padEnd(part.text.length)
  }
  return { text, values, texts: textIndexes, names }

  function buildReplacement({ name, use }: VariablePart, value: string): string {
    switch (use) {
      case 'IDENTIFIER':
        return `"${toIdentifier(name, value)}"`
      case 'LIST':
        return splitListValue(value).map(addParameter).join(', ') || 'null'
      default:
        return addParameter(value)
    }
  }

  /** Adds a value and returns the bind parameter for it. */
  function addParameter(value: string): string {
    values.push(value)
    if (values.length > maxParameters)
      throw new VariableProblem(
        'VARIABLE_MISPLACED',
        `The query uses variables more than ${maxParameters} times. Select each variable once in a WITH clause, and use that clause elsewhere.`,
      )
    return `$${values.length}`
  }
}

/** Returns the names of the variables that `bindVariables` would replace. */
export function findBoundVariables(sql: string): Set<string> {
  const names = new Set<string>()
  for (const { kind, text } of splitSql(sql)) {
    if (kind === 'variable') {
      const [name = ''] = text.slice('${'.length, -'}'.length).split(':')
      names.add(name.trim())
    }
    const quotedName = kind === 'literal' ? /^'\$\{([^{}\n:]*)\}'$/.exec(text)?.[1] : undefined
    if (quotedName !== undefined) names.add(quotedName.trim())
  }
  return names
}

/**
 * Yields the pieces unchanged. Throws `VariableProblem` for a bind parameter such as `$1`, because users cannot give it
 * a value.
 */
function* assertNoParameters(pieces: Iterable<SqlPiece>): Generator<SqlPiece> {
  for (const piece of pieces) {
    if (piece.kind === 'parameter')
      throw new VariableProblem(
        'VARIABLE_MISPLACED',
        `The query uses ${piece.text}, which has no value here. Write \${name} for a variable.`,
      )
    yield piece
  }
}
