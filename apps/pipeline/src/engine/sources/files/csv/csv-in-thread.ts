import { Worker } from 'node:worker_threads'
import { ReadingThread } from '../../reading-thread.ts'
import type { Command, Job, Message } from './protocol.ts'

const program = new URL('./csv-thread.ts', import.meta.url)
/** Objects are few: rows are bytes, in buffers. A small young generation keeps what is thrown away from piling up. */
const resourceLimits = { maxOldGenerationSizeMb: 192, maxYoungGenerationSizeMb: 4 }

/** Milliseconds after a file was read in which its publication has the processor for itself. */
const pause = 1_000

let keeping = false
let spare: Worker | undefined

/**
 * From now on there is a thread that waits for the next file with everything loaded, a quarter of the time that a file of 10 MB
 * takes. It keeps no process alive.
 */
export function keepThreadReady(): void {
  keeping = true
  makeReady()
}

/** Begins to read a file in a thread of its own. */
export function startReading(job: Job, signal: AbortSignal): ReadingThread<Message, Command> {
  const ready = takeReady()
  const thread = new ReadingThread<Message, Command>(
    { program, name: 'csv', job, reading: job.fileName, resourceLimits, ready },
    signal,
  )
  if (keeping) void thread.ended.then(() => setTimeout(makeReady, pause).unref())
  return thread
}

function makeReady(): void {
  if (spare) return
  const made = new Worker(program, { name: 'csv', resourceLimits })
  spare = made
  made.unref()
  // One that does not come up is not missed: the next file gets a thread of its own, and says what is wrong.
  const gone = () => {
    if (spare === made) spare = undefined
  }
  made.on('error', gone).on('exit', gone)
}

function takeReady(): Worker | undefined {
  const taken = spare
  spare = undefined
  taken?.removeAllListeners('error').removeAllListeners('exit').ref()
  return taken
}
