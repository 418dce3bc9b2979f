import { setTimeout as sleep } from 'node:timers/promises'

/** Limits the attempts of an operation and the delays between them, which are in seconds. */
export interface RetryPolicy {
  attempts: number
  /** Before the second attempt. Doubled before each further one, up to `maxDelay`. */
  firstDelay: number
  maxDelay: number
  /** The operation fails if a server requests a longer pause. Default: 900. */
  maxRetryAfter?: number
}

/** The policy of runs, which no user waits for. */
export const backgroundRetry: RetryPolicy = { attempts: 6, firstDelay: 1, maxDelay: 60 }
/** The policy of previews, look-ups and connection tests, which a user waits for. */
export const interactiveRetry: RetryPolicy = { attempts: 2, firstDelay: 0.3, maxDelay: 5, maxRetryAfter: 5 }

/** Thrown by an operation that may succeed if it is repeated. `error` is thrown after the last attempt. */
export class TransientError extends Error {
  override readonly name = 'TransientError'
  readonly error: Error
  /** Seconds that the server requests as a pause. */
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
  /** Called at least every ten seconds during a wait, so that the caller is not considered idle. */
  onAlive?(): void
}

/**
 * Repeats an operation while it throws `TransientError`. Throws other errors unchanged, the error of the last attempt, or
 * the signal's reason.
 */
export async function retry<T>(operation: () => Promise<T>, options: RetryOptions): Promise<T> {
  const attempts = countAttempts(options)
  for (;;) {
    options.signal.throwIfAborted()
    try {
      return await operation()
    } catch (error) {
      await attempts.waitAfter(error)
    }
  }
}

/** Counts the attempts of an operation that continues where the last one failed, such as a download. */
export function countAttempts({ policy, signal, onRetry, onAlive }: RetryOptions) {
  const { attempts, maxRetryAfter = 900 } = policy
  let failed = 0
  return {
    /** Resets the count after progress. */
    reset(): void {
      failed = 0
    },
    /** Waits until the next attempt. Throws like `retry`. */
    async waitAfter(thrown: unknown): Promise<void> {
      signal.throwIfAborted()
      if (!(thrown instanceof TransientError)) throw thrown
      const { error, retryAfter = 0 } = thrown
      failed += 1
      if (failed >= attempts || retryAfter > maxRetryAfter) throw error
      const seconds = Math.max(backoff(policy, failed), retryAfter)
      onRetry?.(error, seconds)
      for (let remaining = seconds; remaining > 0; remaining -= aliveSeconds) {
        const milliseconds = Math.min(remaining, aliveSeconds) * 1000
        await sleep(milliseconds, undefined, { signal }).catch(() => signal.throwIfAborted())
        onAlive?.()
      }
    },
  }
}

const aliveSeconds = 10

/** Returns seconds, with a random jitter of 20 %, so that clients do not retry at the same time. */
function backoff({ firstDelay, maxDelay }: RetryPolicy, failed: number): number {
  return Math.min(maxDelay, firstDelay * 2 ** (failed - 1)) * (0.8 + Math.random() * 0.4)
}

/** Returns the seconds of a Retry-After header, which contains a number, also a fractional one, or a date. */
export function parseRetryAfter(headers: Headers, now = Date.now()): number | undefined {
  const header = headers.get('retry-after')
  if (!header) return undefined
  const seconds = Number(header)
  if (Number.isFinite(seconds)) return Math.max(0, seconds)
  const date = Date.parse(header)
  return Number.isNaN(date) ? undefined : Math.max(0, (date - now) / 1000)
}
