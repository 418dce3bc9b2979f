import { ReadingThread } from '../reading-thread.ts'
import type { Command, Job, Message } from './protocol.ts'

/** Begins to read a database in a thread of its own; the connection ends with the thread. */
export function startReading(job: Job, signal: AbortSignal): ReadingThread<Message, Command> {
  const { kind, host } = job.config
  const program = new URL('./database-thread.ts', import.meta.url)
  const resourceLimits = { maxYoungGenerationSizeMb: 8 }
  // Drivers take passwords and settings from there that nobody gave them, and they go to whoever is connected to.
  const env = {}
  const reading = `the database at ${host}`
  return new ReadingThread({ program, name: kind, job, reading, resourceLimits, env }, signal)
}
