import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Asks until the answer is the expected one. Returns when the last question with another answer was asked, in milliseconds
 * after `since`: unlike the time of the first expected answer, it does not grow with the time that answers take.
 */
export async function lastOtherAnswerMs<T>(ask: () => Promise<T>, expected: T, since = Date.now()): Promise<number> {
  for (let last = 0; ; await sleep(100)) {
    const requestedAt = Date.now() - since
    if ((await ask()) === expected) return last
    last = requestedAt
  }
}
