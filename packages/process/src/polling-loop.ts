import { setTimeout as sleep } from 'node:timers/promises'

interface PollingOptions {
  /** Milliseconds before the next round where the last one found nothing more to do. */
  rest: number
  /** Milliseconds after a round that failed; as after any other where they are absent. */
  afterTrouble?: number
  /** Milliseconds for what is under way when the rounds are stopped; then its signal says that it is to end. */
  farewell: number
  /** Told why a round failed. The next one comes all the same. */
  failed(error: unknown): void
}

/** Goes round after round, each to its end, until it is stopped: without a rest as long as a round answers that there may be more. */
export function keepRounds(
  round: (signal: AbortSignal) => Promise<boolean>,
  { rest, afterTrouble = rest, farewell, failed }: PollingOptions,
): { stop(): Promise<void> } {
  const stopping = new AbortController()
  const breaking = new AbortController()
  const pauseAfter = async () => {
    try {
      return (await round(breaking.signal)) ? 0 : rest
    } catch (error) {
      failed(error)
      return afterTrouble
    }
  }
  const work = (async () => {
    while (!stopping.signal.aborted) {
      const pause = await pauseAfter()
      if (pause > 0) await sleep(pause, undefined, { signal: stopping.signal }).catch(() => {})
    }
  })()
  return {
    async stop() {
      stopping.abort()
      const timer = setTimeout(() => breaking.abort(), farewell)
      await work
      clearTimeout(timer)
    },
  }
}

/**
 * Waits for each of them, then throws what the first failed with: one that fails leaves none of the others under way behind the back of
 * whoever stops the process.
 */
export async function eachToItsEnd(works: readonly Promise<unknown>[]): Promise<void> {
  const ends = await Promise.allSettled(works)
  const failed = ends.find((end) => end.status === 'rejected')
  if (failed) throw failed.reason
}
