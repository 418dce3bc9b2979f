/** The text cannot be read, and why, in a sentence for the person who gave it: what, where, and what to correct in the text. */
export class DelimitedProblem extends Error {
  override readonly name = 'DelimitedProblem'
  readonly code: string
  /** Which option helps instead, in a sentence for a person who can set options. */
  readonly advice: string | undefined

  constructor(code: string, message: string, options: ErrorOptions & { advice?: string } = {}) {
    super(message, options)
    this.code = code
    this.advice = options.advice
  }
}
