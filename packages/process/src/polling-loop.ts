import { setTimeout as sleep } from 'node:timers/promises'

interface PollingOptions {
  /** Milliseconds before the next round if the last one reported no more work. */
  pauseMs: number
  /** Milliseconds before the next round after a failed one. Default: `pauseMs`. */
  pauseAfterFailureMs?: number
  /** Milliseconds after `stop` within which the running round may end. Then its signal is aborted. */
  stopTimeoutMs: number
  /** Called with the error of a failed round. The loop continues. */
  failed(error: unknown): void
}

/**
 * Runs rounds one after another until stopped. If a round returns true, more work may exist, and the next round starts
 * without a pause. `stop` waits for the running round, and aborts its signal after `stopTimeoutMs`.
 */
export function startPollingLoop(
  round: (signal: AbortSignal) => Promise<boolean>,
  { pauseMs, pauseAfterFailureMs = pauseMs, stopTimeoutMs, failed }: PollingOptions,
): { stop(): Promise<void> } {
  const stopping = new AbortController()
  const roundAbort = new AbortController()
  const runRound = async (): Promise<{ nextPauseMs: number }> => {
    try {
      const mayHaveMoreWork = await round(roundAbort.signal)
      return { nextPauseMs: mayHaveMoreWork ? 0 : pauseMs }
    } catch (error) {
      failed(error)
      return { nextPauseMs: pauseAfterFailureMs }
    }
  }
  const runRounds = async () => {
    while (!stopping.signal.aborted) {
      const { nextPauseMs } = await runRound()
      if (nextPauseMs > 0) await sleep(nextPauseMs, undefined, { signal: stopping.signal }).catch(() => {})
    }
  }
  const loopEnded = runRounds()
  return {
    async stop() {
      stopping.abort()
      const timer = setTimeout(() => roundAbort.abort(), stopTimeoutMs)
      await loopEnded
      clearTimeout(timer)
    },
  }
}

/**
 * Waits for all promises, then throws the error of the first that failed. Unlike `Promise.all`, it leaves no work
 * running after a failure.
 */
export async function waitForAll(works: readonly Promise<unknown>[]): Promise<void> {
  const results = await Promise.allSettled(works)
  const failed = results.find((result) => result.status === 'rejected')
  if (failed) throw failed.reason
}
