import { keepThreadReady } from './csv/csv-in-thread.ts'
import { keepNormalisingThread } from './spool/normalise-in-thread.ts'

/** Keeps the threads that read files for the next file, until what this returns is disposed of. What a worker does. */
export function keepThreads(): Disposable {
  const threads = new DisposableStack()
  threads.use(keepThreadReady())
  threads.use(keepNormalisingThread())
  return threads
}
