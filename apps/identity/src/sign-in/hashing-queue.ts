import { availableParallelism } from 'node:os'
import { Problem } from '@sluice/http'

/** Each takes 19 MiB and a core for about 20 ms: more at once would only wait for each other. */
const atOnce = Math.max(2, Math.min(4, availableParallelism()))
/** About one second of work. Whoever comes later is better told to come back than kept. */
const waitingAtMost = 64

const waiting: (() => void)[] = []
let running = 0

/** Runs heavy work of the thread pool, a few at once. Throws 503 when too much is waiting already. */
export async function hashing<T>(work: () => Promise<T>): Promise<T> {
  if (running >= atOnce) {
    if (waiting.length >= waitingAtMost) throw busy()
    await new Promise<void>((resolve) => waiting.push(resolve))
  } else {
    running++
  }
  try {
    return await work()
  } finally {
    // The place goes from hand to hand, so that nobody who comes later takes it from who waits.
    const next = waiting.shift()
    if (next) next()
    else running--
  }
}

const busy = () =>
  new Problem(503, 'busy', 'Too many passwords are being checked.', {
    detail: 'Try again in a few seconds.',
    headers: { 'Retry-After': '2' },
  })
