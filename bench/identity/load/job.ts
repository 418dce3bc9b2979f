/** One request. `{n}` in its body stands for a number that no other request of the run has. */
export interface Request {
  method: 'GET' | 'POST'
  path: string
  headers?: Record<string, string>
  body?: string
}

/** What a load process is asked to do. */
export interface Job {
  port: number
  connections: number
  /** Of load before anything counts. */
  warmUp: number
  seconds: number
  /** Asked in turn. */
  requests?: Request[]
  /** Instead: every answer holds the token that the next request needs. */
  chain?: Chain
}

export interface Chain {
  /** `{token}` in its body stands for the token. */
  request: Request
  /** At least one per connection. */
  tokens: string[]
  /** Where the next token is in an answer. */
  next: string
}

export interface Result {
  /** Answers per second. */
  rate: number
  /** Milliseconds. */
  p50: number
  p95: number
  /** Where a chain of tokens is now. */
  tokens: string[]
}
