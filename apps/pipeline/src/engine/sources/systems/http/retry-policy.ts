/** The number of attempts of a request and the delays between them. */
export interface RetryPolicy {
  attempts: number
  /** Seconds before the second try; each further one waits twice as long, up to `most`. */
  firstDelay: number
  maxDelay: number
}

/** A load can wait; a user in front of a form cannot. */
export const backgroundRetry: RetryPolicy = { attempts: 6, firstDelay: 1, maxDelay: 60 }
export const interactiveRetry: RetryPolicy = { attempts: 2, firstDelay: 0.3, maxDelay: 5 }

/** Seconds for which a system may have itself left alone; one that asks for more ends the reading. */
export const maxRetryAfter = 900

/** Seconds until the next try: at the earliest when the system wants it, and a fifth less or more, so that readers part. */
export function retryDelay({ firstDelay, maxDelay }: RetryPolicy, failedAttempts: number, retryAfter = 0): number {
  const backoff = Math.min(maxDelay, firstDelay * 2 ** (failedAttempts - 1)) * (0.8 + Math.random() * 0.4)
  return Math.max(backoff, retryAfter)
}

/** Retry-After: seconds, whole or not, or a date. */
export function parseRetryAfter(headers: Headers, now = Date.now()): number | undefined {
  const given = headers.get('retry-after')
  if (given === null) return undefined
  const seconds = Number(given)
  if (Number.isFinite(seconds)) return Math.max(0, seconds)
  const date = Date.parse(given)
  return Number.isNaN(date) ? undefined : Math.max(0, (date - now) / 1000)
}
