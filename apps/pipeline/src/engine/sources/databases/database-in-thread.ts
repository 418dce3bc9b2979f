import { ReadingThread } from '../reading-thread.ts'
import { makeRoom } from '../spare-thread.ts'
import type { Command, Job, Message } from './protocol.ts'

/** Begins to read a database in a thread of its own; the connection ends with the thread. */
export function startReading(job: Job, signal: AbortSignal): ReadingThread<Message, Command> {
  const { kind, host } = job.config
  const program = new URL('./database-thread.ts', import.meta.url)
  const resourceLimits = { maxYoungGenerationSizeMb: 4 }
  // Drivers take passwords and settings from there that nobody gave them, and they go to whoever is connected to.
  // Where compiled modules are kept is all that is left: without it, each thread would compile its own.
  const { NODE_COMPILE_CACHE } = process.env
  const env: Record<string, string> = NODE_COMPILE_CACHE ? { NODE_COMPILE_CACHE } : {}
  const reading = `the database at ${host}`
  const thread = new ReadingThread<Message, Command>({ program, name: kind, job, reading, resourceLimits, env }, signal)
  makeRoom(thread.ended)
  return thread
}
