import { backgroundRetry, retry, type RetryPolicy, TransientError } from '@sluice/http-client'
import { DestinationProblem } from './destination-problem.ts'
import type { PushReport } from './push-report.ts'

/**
 * If the header Retry-After exceeds `maxRetryAfter` seconds, the attempt fails, and the run's next attempt continues
 * later.
 */
export const defaultRetryPolicy: RetryPolicy = { ...backgroundRetry, maxRetryAfter: 600 }

interface RequestRetry {
  policy: RetryPolicy
  signal: AbortSignal
  log: PushReport['log']
}

/** Repeats an idempotent request after retryable problems. Throws the last problem, or the signal's reason. */
export async function retryRequest<T>(request: () => Promise<T>, { policy, signal, log }: RequestRetry): Promise<T> {
  async function attempt(): Promise<T> {
    try {
      return await request()
    } catch (error) {
      throw error instanceof DestinationProblem && error.retryable ? new TransientError(error, error.retryAfter) : error
    }
  }
  return await retry(attempt, {
    policy,
    signal,
    onRetry: (problem, seconds) => {
      const { message, code } = problem as DestinationProblem
      log('WARN', 'MEDIUM', `${message} (${code}; next attempt in ${Math.ceil(seconds)} seconds)`)
    },
  })
}
