/** An error of a push or of the test of a target. The message is a sentence for users, without secrets. */
export class DestinationProblem extends Error {
  override readonly name = 'DestinationProblem'
  readonly code: string
  /** Whether a retry may succeed, because the target is down, overloaded or unreachable. */
  readonly retryable: boolean
  /** Whether a smaller request may succeed. */
  readonly maySucceedIfSmaller: boolean
  /** The number of seconds in the header Retry-After. */
  readonly retryAfter: number | undefined

  constructor(
    code: string,
    message: string,
    { retryable = false, maySucceedIfSmaller = false, retryAfter, cause }: ProblemDetails & ErrorOptions = {},
  ) {
    super(message, { cause })
    this.code = code
    this.retryable = retryable
    this.maySucceedIfSmaller = maySucceedIfSmaller
    this.retryAfter = retryAfter
  }
}

interface ProblemDetails {
  retryable?: boolean
  maySucceedIfSmaller?: boolean
  retryAfter?: number | undefined
}
