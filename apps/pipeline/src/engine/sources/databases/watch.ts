import type { DatabaseLimits } from './database-config.ts'
import type { Session } from './session.ts'
import type { TupleSink } from './tuple-sink.ts'

/** Calls `silent` once when nothing has come from the database for too long. Time in which nobody wants more does not count. */
export function watch(session: Session, sink: TupleSink, limits: DatabaseLimits, silent: () => void): Disposable {
  let seen = session.received()
  let since = performance.now()
  const timer = setInterval(
    () => {
      const now = session.received()
      const limit = sink.rows === 0 ? limits.firstRow : limits.silence
      if (now !== seen || sink.waiting) {
        seen = now
        since = performance.now()
      } else if (performance.now() - since > limit) {
        clearInterval(timer)
        silent()
      }
    },
    Math.max(10, Math.min(1_000, limits.silence / 10)),
  )
  return { [Symbol.dispose]: () => clearInterval(timer) }
}
