/** The number of attempts of a request and the delays between them. */
export interface RetryPolicy {
  attempts: number
  /** Seconds before the second attempt, doubled before each further one, up to `maxDelay`. */
  firstDelay: number
  maxDelay: number
}

/** A load can wait; a user in front of a form cannot. */
export const backgroundRetry: RetryPolicy = { attempts: 6, firstDelay: 1, maxDelay: 60 }
export const interactiveRetry: RetryPolicy = { attempts: 2, firstDelay: 0.3, maxDelay: 5 }

/** Maximum seconds of Retry-After; a longer one ends the read. */
export const maxRetryAfter = 900

/**
 * Returns the seconds until the next attempt: at least Retry-After, with a jitter of 20 %, so that readers do not retry at
 * the same time.
 */
export function retryDelay({ firstDelay, maxDelay }: RetryPolicy, failedAttempts: number, retryAfter = 0): number {
  const backoff = Math.min(maxDelay, firstDelay * 2 ** (failedAttempts - 1)) * (0.8 + Math.random() * 0.4)
  return Math.max(backoff, retryAfter)
}

/** Parses Retry-After: seconds, also fractional, or a date. */
export function parseRetryAfter(headers: Headers, now = Date.now()): number | undefined {
  const given = headers.get('retry-after')
  if (given === null) return undefined
  const seconds = Number(given)
  if (Number.isFinite(seconds)) return Math.max(0, seconds)
  const date = Date.parse(given)
  return Number.isNaN(date) ? undefined : Math.max(0, (date - now) / 1000)
}
