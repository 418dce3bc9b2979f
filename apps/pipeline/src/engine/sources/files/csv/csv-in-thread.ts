import { ReadingThread } from '../../reading-thread.ts'
import type { Command, Job, Message } from './protocol.ts'

/** Objects are few: rows are bytes, in buffers. A small young generation keeps what is thrown away from piling up. */
const resourceLimits = { maxOldGenerationSizeMb: 192, maxYoungGenerationSizeMb: 4 }

/** Begins to read a file in a thread of its own. */
export function startReading(job: Job, signal: AbortSignal): ReadingThread<Message, Command> {
  const program = new URL('./csv-thread.ts', import.meta.url)
  return new ReadingThread({ program, name: 'csv', job, reading: job.fileName, resourceLimits }, signal)
}
