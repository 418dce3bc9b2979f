/** The data cannot be published, and the old rows stay. The message is for the owner of the pipeline. */
export class LoadProblem extends Error {
  override readonly name = 'LoadProblem'
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}
