/** A request. `{n}` in its body is replaced by a number that is unique in the run. */
export interface Request {
  method: 'GET' | 'POST'
  path: string
  headers?: Record<string, string>
  body?: string
}

export interface Job {
  port: number
  connections: number
  /** Seconds of load before the measurement starts. */
  warmUp: number
  seconds: number
  /** Sent in round-robin order. */
  requests?: Request[]
  /** Used instead of `requests` if every response contains the token for the next request. */
  chain?: Chain
}

export interface Chain {
  /** `{token}` in its body is replaced by the token. */
  request: Request
  /** At least one per connection. */
  tokens: string[]
  /** Name of the response field with the next token. */
  next: string
}

export interface Result {
  /** Responses per second. */
  rate: number
  /** Milliseconds. */
  p50: number
  p95: number
  /** The current tokens of the chain. */
  tokens: string[]
}
