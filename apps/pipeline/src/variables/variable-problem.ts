/** Thrown for a wrong use of a variable. The message is a sentence for users. */
export class VariableProblem extends Error {
  override readonly name = 'VariableProblem'
  readonly code: 'VARIABLE_UNKNOWN' | 'VARIABLE_MISPLACED' | 'SECRET_FOR_OTHER_ADDRESS'

  constructor(code: VariableProblem['code'], message: string) {
    super(message)
    this.code = code
  }
}

export function unknownVariable(
  name: string,
  advice = 'Create it, set its value, or correct its name.',
): VariableProblem {
  return new VariableProblem(
    'VARIABLE_UNKNOWN',
    `The variable ${formatVariable(name)} does not exist or has no value. ${advice}`,
  )
}

export function misplacedVariable(name: string, reason: string): VariableProblem {
  return new VariableProblem('VARIABLE_MISPLACED', `The variable ${formatVariable(name)} ${reason}`)
}

/** Formats a variable as in SQL or settings, shortened to 100 characters. */
const formatVariable = (name: string) => `\${${name.slice(0, 100)}}`
