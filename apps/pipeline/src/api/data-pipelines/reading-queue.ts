import { Problem } from '@sluice/http'

/** Each holds a connection and, while it is answered, some ten times its 4 MB. */
const atOnce = 6
/** Whoever comes later is better told to come back than kept. */
const waitingAtMost = 64

const waiting: (() => void)[] = []
let running = 0

/** Reads rows of a warehouse, a few pages at once. Throws 503 when too many are waiting already. */
export async function reading<T>(work: () => Promise<T>): Promise<T> {
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
  new Problem(503, 'busy', 'Too many pages are being read.', {
    detail: 'Try again in a few seconds.',
    headers: { 'Retry-After': '2' },
  })
