import { ReadingThread } from '../../reading-thread.ts'
import { spareThread } from '../../spare-thread.ts'
import type { CsvCommand, CsvJob, CsvMessage } from './protocol.ts'

const program = new URL('./csv-thread.ts', import.meta.url)
/** Objects are few: rows are bytes, in buffers. A small young generation keeps what is thrown away from piling up. */
const resourceLimits = { maxOldGenerationSizeMb: 192, maxYoungGenerationSizeMb: 4 }
const spare = spareThread(program, 'csv', resourceLimits)

/** Keeps a thread ready for the next file, until it is disposed of. A file of 10 MB takes half the time then. */
export function keepCsvThread(): Disposable {
  return spare.keep()
}

/** Begins to read a file in a thread that reads nothing else meanwhile. */
export function startCsvThread(job: CsvJob, signal: AbortSignal): ReadingThread<CsvMessage, CsvCommand> {
  const ready = spare.take()
  const keep = spare.isKept && { keep: spare.giveBack }
  const reader = { program, name: 'csv', job, reading: job.fileName, resourceLimits, ready, ...keep }
  const thread = new ReadingThread<CsvMessage, CsvCommand>(reader, signal)
  spare.trackBorrowed(thread.ended)
  return thread
}
