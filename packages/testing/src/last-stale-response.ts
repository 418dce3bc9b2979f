import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Repeats a request until it returns `expected`. Returns the start time of the last request with another result, in
 * milliseconds after `since`. Unlike the time of the first expected result, it does not depend on how long a request
 * takes.
 */
export async function lastOtherAnswerMs<T>(ask: () => Promise<T>, expected: T, since = Date.now()): Promise<number> {
  for (let last = 0; ; await sleep(100)) {
    const requestedAt = Date.now() - since
    if ((await ask()) === expected) return last
    last = requestedAt
  }
}
