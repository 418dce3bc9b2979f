import { Problem } from './problem.ts'

/**
 * Lets `atOnce` pieces of work run and `waiting` more wait for their turn. Whoever comes later is better told to come back
 * than kept: 503 with `title`.
 */
export function fewAtOnce({
  atOnce,
  waiting: waitingAtMost,
  title,
}: {
  atOnce: number
  waiting: number
  title: string
}) {
  const waiting: (() => void)[] = []
  let running = 0

  const run = async <T>(work: () => Promise<T>): Promise<T> => {
    if (running >= atOnce) {
      if (waiting.length >= waitingAtMost) {
        throw new Problem(503, 'busy', title, {
          detail: 'Try again in a few seconds.',
          headers: { 'Retry-After': '2' },
        })
      }
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
  return Object.assign(run, {
    /** How many wait for their turn. */
    waiting: () => waiting.length,
  })
}

/** The same for each of many, such as clients: what one of them asks for keeps none of the others waiting. */
export function fewAtOnceEach(limits: Parameters<typeof fewAtOnce>[0]) {
  const queues = new Map<string, { run: ReturnType<typeof fewAtOnce>; under: number }>()

  return async <T>(key: string, work: () => Promise<T>): Promise<T> => {
    const queue = queues.get(key) ?? { run: fewAtOnce(limits), under: 0 }
    queues.set(key, queue)
    queue.under++
    try {
      return await queue.run(work)
    } finally {
      if (--queue.under === 0) queues.delete(key)
    }
  }
}
