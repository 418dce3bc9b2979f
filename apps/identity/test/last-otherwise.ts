import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Asks until the answer is as it has to be. Answers how many milliseconds after `since` the last question was asked that was answered
 * otherwise: how long answers take is the machine's affair.
 */
export async function lastOtherwise<T>(ask: () => Promise<T>, right: T, since: number): Promise<number> {
  for (let last = 0; ; await sleep(100)) {
    const asked = Date.now() - since
    if ((await ask()) === right) return last
    last = asked
  }
}
