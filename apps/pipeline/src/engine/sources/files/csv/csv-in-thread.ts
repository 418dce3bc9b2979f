import { Worker } from 'node:worker_threads'
import { ReadingThread } from '../../reading-thread.ts'
import type { Command, Job, Message } from './protocol.ts'

const program = new URL('./csv-thread.ts', import.meta.url)
/** Objects are few: rows are bytes, in buffers. A small young generation keeps what is thrown away from piling up. */
const resourceLimits = { maxOldGenerationSizeMb: 192, maxYoungGenerationSizeMb: 4 }

/** Milliseconds after a thread was lost in which whatever ended it has the processor for itself. */
const pause = 1_000

let keeping = false
let spare: Worker | undefined

/**
 * From now on there is a thread that waits for the next file: with everything loaded, and once it has read one, with its code
 * compiled for what it does most. To a file of 10 MB that is half of its time. It keeps no process alive.
 */
export function keepThreadReady(): void {
  keeping = true
  makeReady()
}

/** Begins to read a file in a thread that reads nothing else meanwhile. */
export function startReading(job: Job, signal: AbortSignal): ReadingThread<Message, Command> {
  const ready = takeReady()
  const thread = new ReadingThread<Message, Command>(
    { program, name: 'csv', job, reading: job.fileName, resourceLimits, ready, ...(keeping && { keep: stayReady }) },
    signal,
  )
  if (keeping) void thread.ended.then(() => setTimeout(makeReady, pause).unref())
  return thread
}

function makeReady(): void {
  if (!spare) stayReady(new Worker(program, { name: 'csv', resourceLimits }))
}

/** One is enough: files that are read beside each other take their time anyway. */
function stayReady(worker: Worker): void {
  if (spare) return void worker.terminate()
  spare = worker
  worker.unref()
  // One that is gone is not missed: the next file gets a thread of its own, and says what is wrong.
  const gone = () => {
    if (spare === worker) spare = undefined
  }
  worker.on('error', gone).on('exit', gone)
}

function takeReady(): Worker | undefined {
  const taken = spare
  spare = undefined
  taken?.removeAllListeners('error').removeAllListeners('exit').ref()
  return taken
}
