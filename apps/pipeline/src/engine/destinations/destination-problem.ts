/** The target cannot take it, or does not; in a sentence for people, without secrets. */
export class DestinationProblem extends Error {
  override readonly name = 'DestinationProblem'
  readonly code: string
  /** Waiting may help: it is down, busy or out of reach. */
  readonly retryable: boolean
  /** Less at once may help. */
  readonly tooMuch: boolean
  /** Seconds that the target asks to be left alone. */
  readonly retryAfter: number | undefined

  constructor(
    code: string,
    message: string,
    { retryable = false, tooMuch = false, retryAfter, cause }: Details & ErrorOptions = {},
  ) {
    super(message, { cause })
    this.code = code
    this.retryable = retryable
    this.tooMuch = tooMuch
    this.retryAfter = retryAfter
  }
}

interface Details {
  retryable?: boolean
  tooMuch?: boolean
  retryAfter?: number | undefined
}
