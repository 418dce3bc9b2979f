import { setTimeout as sleep } from 'node:timers/promises'
import { DestinationProblem } from './destination-problem.ts'

export interface RetryPolicy {
  /** Maximum number of attempts. */
  tries: number
  /** Seconds before the second attempt, doubled before each further one, up to `most`. */
  first: number
  most: number
}

export const defaultRetryPolicy: RetryPolicy = { tries: 6, first: 1, most: 60 }

/** Maximum of `Retry-After` in seconds. After a longer one, a later attempt of the run continues. */
const maxRetryAfter = 600

interface RetryOptions {
  policy: RetryPolicy
  signal: AbortSignal
  /** Called before each wait. */
  waits(problem: DestinationProblem, seconds: number): void
}

/**
 * Repeats idempotent work after retryable problems: with exponential backoff, a jitter of 20 %, and not before `Retry-After`.
 * Throws the last problem, or the signal's reason.
 */
export async function retry<T>(work: () => Promise<T>, { policy, signal, waits }: RetryOptions): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work()
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof DestinationProblem) || !error.retryable || attempt >= policy.tries) throw error
      const backoff = Math.min(policy.most, policy.first * 2 ** (attempt - 1)) * (0.8 + Math.random() * 0.4)
      const seconds = Math.max(backoff, error.retryAfter ?? 0)
      if (seconds > maxRetryAfter) throw error
      waits(error, seconds)
      await sleep(seconds * 1000, undefined, { signal }).catch(() => signal.throwIfAborted())
    }
  }
}
