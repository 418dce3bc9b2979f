/** The text cannot be read, and why, in a sentence for the person who gave it: what, where, what to do. */
export class DelimitedProblem extends Error {
  override readonly name = 'DelimitedProblem'
  readonly code: string

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}
