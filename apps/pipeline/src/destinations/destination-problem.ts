/** The error of a failed push or a failed test of a target. The message is a sentence for users, without secrets. */
export class DestinationProblem extends Error {
  override readonly name = 'DestinationProblem'
  readonly code: string
  /** Whether a retry may help, because the target is down, busy or unreachable. */
  readonly retryable: boolean
  /** Whether a smaller request may help. */
  readonly tooMuch: boolean
  /** Seconds from the header Retry-After. */
  readonly retryAfter: number | undefined

  constructor(
    code: string,
    message: string,
    { retryable = false, tooMuch = false, retryAfter, cause }: ProblemDetails & ErrorOptions = {},
  ) {
    super(message, { cause })
    this.code = code
    this.retryable = retryable
    this.tooMuch = tooMuch
    this.retryAfter = retryAfter
  }
}

interface ProblemDetails {
  retryable?: boolean
  tooMuch?: boolean
  retryAfter?: number | undefined
}
