import { Semaphore } from '@sluice/process'

/**
 * Lets `atOnce` pieces of work run and `waiting` more wait for their turn, whoever asks. Whoever comes later gets `SemaphoreBusy`, which
 * is answered with 503 and `title`.
 */
export function fewAtOnce({ atOnce, waiting, title }: { atOnce: number; waiting: number; title: string }) {
  const semaphore = new Semaphore({ total: atOnce, each: atOnce, waiting, title })
  return Object.assign(semaphore.queueOf(''), {
    /** How many wait for their turn. */
    waiting: () => semaphore.waiting(),
  })
}
