import { setTimeout as sleep } from 'node:timers/promises'
import { DestinationProblem } from './destination-problem.ts'

/** How often and how patiently something is asked again. */
export interface Patience {
  tries: number
  /** Seconds before the second try; each further one waits twice as long, up to `most`. */
  first: number
  most: number
}

export const patience: Patience = { tries: 6, first: 1, most: 60 }

/** Seconds that a target may have itself left alone; one that asks for more is asked again by a later try of the run. */
const longestRest = 600

interface Again {
  patience: Patience
  signal: AbortSignal
  /** Told before each wait. */
  waits(problem: DestinationProblem, seconds: number): void
}

/**
 * Does what can be done twice, again while what is wrong may pass by itself: with backoff, a fifth less or more, and at the
 * earliest when the target wants it. Throws the last problem, or the signal's reason.
 */
export async function again<T>(work: () => Promise<T>, { patience, signal, waits }: Again): Promise<T> {
  for (let tried = 1; ; tried += 1) {
    try {
      return await work()
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof DestinationProblem) || !error.retryable || tried >= patience.tries) throw error
      const backoff = Math.min(patience.most, patience.first * 2 ** (tried - 1)) * (0.8 + Math.random() * 0.4)
      const seconds = Math.max(backoff, error.retryAfter ?? 0)
      if (seconds > longestRest) throw error
      waits(error, seconds)
      await sleep(seconds * 1000, undefined, { signal }).catch(() => signal.throwIfAborted())
    }
  }
}
