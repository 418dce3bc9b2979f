/** The text cannot be read. The message tells the person who provided it what is wrong, where, and what to correct in the text. */
export class DelimitedProblem extends Error {
  override readonly name = 'DelimitedProblem'
  readonly code: string
  /** A sentence that names the option that helps instead, for a reader who can set options. */
  readonly advice: string | undefined

  constructor(code: string, message: string, options: ErrorOptions & { advice?: string } = {}) {
    super(message, options)
    this.code = code
    this.advice = options.advice
  }
}
