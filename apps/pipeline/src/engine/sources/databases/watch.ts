import type { DatabaseLimits } from './database-config.ts'
import type { Session } from './session.ts'
import type { TupleSink } from './tuple-sink.ts'

/** What decides how long is too long: whether somebody else is waited for, and whether the first row is still to come. */
type Watched = Pick<TupleSink, 'waiting' | 'rows'>

/** For moments before any rows are asked for: a table that somebody else has locked may keep its columns to itself. */
export const beforeRows: Watched = { waiting: false, rows: 1 }

/** Calls `silent` once when nothing has come from the database for too long. Time in which nobody wants more does not count. */
export function watch(
  session: Pick<Session, 'received'>,
  sink: Watched,
  limits: DatabaseLimits,
  silent: () => void,
): Disposable {
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
