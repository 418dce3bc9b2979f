import { getCompileCacheDir } from 'node:module'
import { dirname } from 'node:path'
import { ReadingThread } from '../reading-thread.ts'
import { suspendSpareThreads } from '../spare-thread.ts'
import type { Command, Job, Message } from './protocol.ts'

/** Begins to read a database in a thread of its own; the connection ends with the thread. */
export function startReading(job: Job, signal: AbortSignal): ReadingThread<Message, Command> {
  const { kind, host } = job.config
  const program = new URL('./database-thread.ts', import.meta.url)
  const resourceLimits = { maxYoungGenerationSizeMb: 4 }
  // Drivers take passwords and settings from the environment that nobody gave them, and they go to whoever is connected
  // to. So only where compiled modules are kept is in it: without that, each thread would compile its own. Node answers
  // with the folder of its own version, inside of the one it was given.
  const compiled = getCompileCacheDir()
  const env: Record<string, string> = compiled ? { NODE_COMPILE_CACHE: dirname(compiled) } : {}
  const reading = `the database at ${host}`
  // A cancelled run ends within five seconds.
  const cancellation = { command: { kind: 'cancel' } satisfies Command, milliseconds: 2_500, lastMessage: 'finished' }
  const reader = { program, name: kind, job, reading, resourceLimits, env, cancellation }
  const thread = new ReadingThread<Message, Command>(reader, signal)
  suspendSpareThreads(thread.ended)
  return thread
}
