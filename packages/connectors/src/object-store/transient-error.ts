import { setTimeout as pause } from 'node:timers/promises'
import type { SourceProblem } from '@sluice/row-stream'
import type { RetryPolicy } from '@sluice/http-client'

/** A problem that may pass: a broken connection, or a busy store. `problem` is the error to report if it does not pass. */
export class TransientError extends Error {
  override readonly name = 'TransientError'
  readonly problem: SourceProblem
  /** Milliseconds that the store requests as a pause. */
  readonly wait: number | undefined

  constructor(problem: SourceProblem, wait?: number) {
    super(problem.message, { cause: problem })
    this.problem = problem
    this.wait = wait
  }
}

export interface StoreRetryPolicy {
  attempts: number
  /** Milliseconds before the second attempt; the delay doubles with each attempt, up to the maximum. */
  firstDelayMs: number
  maxDelayMs: number
  /** Maximum pause in milliseconds that a store may request; a store that requests a longer one is given up. */
  maxRetryAfterMs: number
}

/** For runs, where no user waits. */
export const backgroundRetry: StoreRetryPolicy = {
  attempts: 6,
  firstDelayMs: 1_000,
  maxDelayMs: 60_000,
  maxRetryAfterMs: 900_000,
}

/** Converts the seconds of a `RetryPolicy` to milliseconds. */
export function toStoreRetryPolicy({ attempts, firstDelay, maxDelay }: RetryPolicy): StoreRetryPolicy {
  return { ...backgroundRetry, attempts, firstDelayMs: firstDelay * 1_000, maxDelayMs: maxDelay * 1_000 }
}

/** For connection tests and previews, where a user waits for the response. */
export const interactiveRetry: StoreRetryPolicy = {
  attempts: 2,
  firstDelayMs: 200,
  maxDelayMs: 1_000,
  maxRetryAfterMs: 5_000,
}

/** Counts failed attempts and waits between them. */
export function createRetryCounter(
  { attempts, firstDelayMs, maxDelayMs, maxRetryAfterMs }: StoreRetryPolicy,
  signal: AbortSignal,
) {
  let failed = 0
  return {
    /** Resets the count after progress. */
    reset(): void {
      failed = 0
    },
    /** Waits until the next attempt. Throws an error that is not transient, the problem after the last attempt, or the signal's reason. */
    async again(error: unknown): Promise<void> {
      signal.throwIfAborted()
      if (!(error instanceof TransientError)) throw error
      const { problem, wait = 0 } = error
      failed += 1
      if (failed >= attempts || wait > maxRetryAfterMs) throw problem
      // Random jitter of one half, so that readers do not retry at the same time.
      const backOff = Math.min(maxDelayMs, firstDelayMs * 2 ** (failed - 1)) * (0.5 + Math.random() / 2)
      await waitUnlessAborted(Math.max(backOff, wait), signal)
    },
  }
}

/** Throws the signal's reason as soon as it aborts. */
async function waitUnlessAborted(milliseconds: number, signal: AbortSignal): Promise<void> {
  try {
    await pause(milliseconds, undefined, { signal })
  } finally {
    signal.throwIfAborted()
  }
}

/** Runs an operation and repeats it after transient errors. */
export async function retryTransientErrors<T>(
  work: () => Promise<T>,
  retrying: StoreRetryPolicy,
  signal: AbortSignal,
): Promise<T> {
  for (const { again } = createRetryCounter(retrying, signal); ; ) {
    try {
      return await work()
    } catch (error) {
      await again(error)
    }
  }
}

/** Milliseconds of a Retry-After header, which holds seconds or a date. */
export function parseRetryAfter(headers: Headers): number | undefined {
  const given = headers.get('retry-after')
  if (!given) return undefined
  const milliseconds = /^[\d.]+$/.test(given.trim()) ? Number(given) * 1000 : Date.parse(given) - Date.now()
  return Number.isFinite(milliseconds) ? Math.max(0, milliseconds) : undefined
}
