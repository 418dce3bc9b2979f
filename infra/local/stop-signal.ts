import { runningPrograms } from './start-program.ts'

/**
 * npm passes Ctrl-C on to a process that already received it from the terminal. Signals within this time count as one.
 */
const SAME_KEYSTROKE_MS = 500

/**
 * Returns a signal that aborts at the first Ctrl-C, SIGTERM or closed terminal. The second one calls `force` and exits.
 */
export const watchStopSignals = (force: () => void): AbortSignal => {
  const stop = new AbortController()
  let first = 0
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      const now = Date.now()
      if (!stop.signal.aborted) {
        first = now
        stop.abort(signal)
      } else if (now - first > SAME_KEYSTROKE_MS) {
        for (const child of runningPrograms) child.kill('SIGKILL')
        force()
        process.exit(130)
      }
    })
  }
  return stop.signal
}
