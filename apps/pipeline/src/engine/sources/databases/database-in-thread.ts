import { ReadingThread } from '../reading-thread.ts'
import type { Command, Job, Message } from './protocol.ts'

/** Begins to read a database in a thread of its own; the connection ends with the thread. */
export function startReading(job: Job, signal: AbortSignal): ReadingThread<Message, Command> {
  const { kind, host } = job.config
  const program = new URL('./database-thread.ts', import.meta.url)
  const resourceLimits = { maxYoungGenerationSizeMb: 8 }
  return new ReadingThread({ program, name: kind, job, reading: `the database at ${host}`, resourceLimits }, signal)
}
