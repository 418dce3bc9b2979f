import { keepCsvThread } from '../csv/csv-in-thread.ts'
import { keepNormaliserThread } from './normalise-in-thread.ts'

/** Keeps the threads that read files for reuse, until the returned object is disposed of. Workers call this at their start. */
export function keepReaderThreads(): Disposable {
  const threads = new DisposableStack()
  threads.use(keepCsvThread())
  threads.use(keepNormaliserThread())
  return threads
}
