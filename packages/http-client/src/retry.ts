import { setTimeout as sleep } from 'node:timers/promises'

/** Limits the attempts of an operation and the delays between them. Delays are in seconds. */
export interface RetryPolicy {
  attempts: number
  /** The delay before the second attempt. It is doubled before each further attempt, up to `maxDelay`. */
  firstDelay: number
  maxDelay: number
  /** The longest pause that a server may request. If it requests a longer one, the operation fails. Default: 900. */
  maxRetryAfter?: number
}

/** The retry policy of runs, for which no user waits. */
export const backgroundRetry: RetryPolicy = { attempts: 6, firstDelay: 1, maxDelay: 60 }
/** The retry policy of previews, option lists and connection tests, for which a user waits. */
export const interactiveRetry: RetryPolicy = { attempts: 2, firstDelay: 0.3, maxDelay: 5, maxRetryAfter: 5 }

/** Thrown by an operation that may succeed if it is repeated. `error` is thrown after the last attempt. */
export class TransientError extends Error {
  override readonly name = 'TransientError'
  readonly error: Error
  /** The pause in seconds that the server requests. */
  readonly retryAfter: number | undefined

  constructor(error: Error, retryAfter?: number) {
    super(error.message, { cause: error })
    this.error = error
    this.retryAfter = retryAfter
  }
}

export interface RetryOptions {
  policy: RetryPolicy
  signal: AbortSignal
  /** Called before each wait. */
  onRetry?(error: Error, seconds: number): void
  /** Called at least every ten seconds during a wait, so that the run does not count as stalled. */
  onAlive?(): void
}

/**
 * Repeats an operation while it throws `TransientError`, up to the maximum number of attempts. Throws the error of the
 * last attempt, any other error of the operation unchanged, or the signal's reason.
 */
export async function retry<T>(operation: () => Promise<T>, options: RetryOptions): Promise<T> {
  const backoff = createBackoff(options)
  for (;;) {
    options.signal.throwIfAborted()
    try {
      return await operation()
    } catch (error) {
      await backoff.waitOrThrow(error)
    }
  }
}

/**
 * Returns functions for the waits between the attempts of an operation, such as a download that continues where it
 * failed. The waits grow with the number of failed attempts.
 */
export function createBackoff({ policy, signal, onRetry, onAlive }: RetryOptions) {
  const { attempts, maxRetryAfter = 900 } = policy
  let failedAttempts = 0
  return {
    /** Forgets the failed attempts. Call it after progress. */
    reset(): void {
      failedAttempts = 0
    },
    /** Waits until the next attempt. Throws the error if no further attempt is allowed, or the signal's reason. */
    async waitOrThrow(thrown: unknown): Promise<void> {
      signal.throwIfAborted()
      if (!(thrown instanceof TransientError)) throw thrown
      const { error, retryAfter = 0 } = thrown
      failedAttempts += 1
      if (failedAttempts >= attempts || retryAfter > maxRetryAfter) throw error
      const seconds = Math.max(computeDelay(policy, failedAttempts), retryAfter)
      onRetry?.(error, seconds)
      await waitAndReport(seconds, signal, onAlive)
    },
  }
}

const aliveSeconds = 10

/** Waits for a number of seconds and calls `onAlive` at least every ten seconds. Throws the signal's reason. */
async function waitAndReport(seconds: number, signal: AbortSignal, onAlive: RetryOptions['onAlive']): Promise<void> {
  for (let remaining = seconds; remaining > 0; remaining -= aliveSeconds) {
    const milliseconds = Math.min(remaining, aliveSeconds) * 1000
    await sleep(milliseconds, undefined, { signal }).catch(() => signal.throwIfAborted())
    onAlive?.()
  }
}

/**
 * Returns the delay in seconds. It is shortened at random by up to 20 %, so that clients do not retry at the same time,
 * and none waits longer than `maxDelay`.
 */
function computeDelay({ firstDelay, maxDelay }: RetryPolicy, failedAttempts: number): number {
  return Math.min(maxDelay, firstDelay * 2 ** (failedAttempts - 1)) * (0.8 + Math.random() * 0.2)
}

/** Parses a Retry-After header to seconds. It contains a date or a number, which may be fractional. */
export function parseRetryAfter(headers: Pick<Headers, 'get'>, now = Date.now()): number | undefined {
  const header = headers.get('retry-after')
  if (!header) return undefined
  const seconds = Number(header)
  if (Number.isFinite(seconds)) return Math.max(0, seconds)
  const date = Date.parse(header)
  return Number.isNaN(date) ? undefined : Math.max(0, (date - now) / 1000)
}
