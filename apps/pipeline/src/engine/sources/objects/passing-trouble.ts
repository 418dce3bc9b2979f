import { setTimeout as pause } from 'node:timers/promises'
import type { SourceProblem } from '../source.ts'
import type { Patience } from '../systems/http/patience.ts'

/** Something that waiting may mend: a connection that broke, a store that is busy. `problem` is what it is if it does not. */
export class PassingTrouble extends Error {
  override readonly name = 'PassingTrouble'
  readonly problem: SourceProblem
  /** Milliseconds that the store wants to be left alone for. */
  readonly wait: number | undefined

  constructor(problem: SourceProblem, wait?: number) {
    super(problem.message, { cause: problem })
    this.problem = problem
    this.wait = wait
  }
}

export interface Retrying {
  /** How often something is tried in all before it is given up. */
  tries: number
  /** Milliseconds before the second try; each further one waits twice as long, up to `longest`. */
  first: number
  longest: number
  /** Milliseconds for which a store may have itself left alone; one that asks for more is given up. */
  longestRest: number
}

/** For runs, which nobody sits in front of. */
export const patient: Retrying = { tries: 6, first: 1_000, longest: 60_000, longestRest: 900_000 }

/** As patiently as systems are asked. */
export function asPatient({ tries, first, most }: Patience): Retrying {
  return { ...patient, tries, first: first * 1_000, longest: most * 1_000 }
}

/** For tests of a connection and previews: somebody waits for the answer. */
export const brisk: Retrying = { tries: 2, first: 200, longest: 1_000, longestRest: 5_000 }

/** Counts the tries of one thing, and waits between them. */
export function tries({ tries: most, first, longest, longestRest }: Retrying, signal: AbortSignal) {
  let failed = 0
  return {
    /** It went on: what failed before counts no more. */
    reset(): void {
      failed = 0
    },
    /** Waits until it may be tried again. Throws what is not passing, the problem once it was tried often enough, or the signal's reason. */
    async again(error: unknown): Promise<void> {
      signal.throwIfAborted()
      if (!(error instanceof PassingTrouble)) throw error
      const { problem, wait = 0 } = error
      failed += 1
      if (failed >= most || wait > longestRest) throw problem
      // Half of it by chance, so that many readers do not come back at one moment.
      const backOff = Math.min(longest, first * 2 ** (failed - 1)) * (0.5 + Math.random() / 2)
      await rest(Math.max(backOff, wait), signal)
    },
  }
}

/** Throws the signal's reason as soon as it aborts. */
async function rest(milliseconds: number, signal: AbortSignal): Promise<void> {
  try {
    await pause(milliseconds, undefined, { signal })
  } finally {
    signal.throwIfAborted()
  }
}

/** Does it, again and again while the trouble is passing. */
export async function tried<T>(work: () => Promise<T>, retrying: Retrying, signal: AbortSignal): Promise<T> {
  for (const { again } = tries(retrying, signal); ; ) {
    try {
      return await work()
    } catch (error) {
      await again(error)
    }
  }
}

/** Milliseconds of a Retry-After header: seconds, or a day and time. */
export function retryAfter(headers: Headers): number | undefined {
  const given = headers.get('retry-after')
  if (!given) return undefined
  const milliseconds = /^[\d.]+$/.test(given.trim()) ? Number(given) * 1000 : Date.parse(given) - Date.now()
  return Number.isFinite(milliseconds) ? Math.max(0, milliseconds) : undefined
}
