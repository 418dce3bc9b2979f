import { Worker } from 'node:worker_threads'
import { SourceProblem } from '../../source.ts'
import type { Job, Message, Normalised } from './protocol.ts'

/** Megabytes of objects that the thread may hold; what it reads and writes is buffers beside them. */
const heap = 96

/**
 * Normalises an upload in a thread of its own. Aborting ends the thread before this rejects, so the descriptors may be closed then.
 * Throws the abort's reason, SourceProblem, or what went wrong in the thread.
 */
export async function normaliseInThread(
  job: Job,
  signal: AbortSignal,
  onProgress: (bytes: number) => void,
): Promise<Normalised> {
  signal.throwIfAborted()
  const { promise, resolve, reject } = Promise.withResolvers<Normalised>()
  const worker = new Worker(new URL('./normalise-thread.ts', import.meta.url), {
    name: 'spool',
    workerData: job,
    resourceLimits: { maxOldGenerationSizeMb: heap },
  })
  const failed = (cause: unknown) => reject(new Error(`Reading ${job.name} failed`, { cause }))
  worker.on('message', (message: Message) => {
    if (message.kind === 'progress') onProgress(message.bytes)
    else if (message.kind === 'done') resolve(message.normalised)
    else reject(new SourceProblem(message.code, message.message, { cause: message.cause }))
  })
  worker.on('error', failed)
  worker.on('messageerror', failed)
  worker.on('exit', () => reject(new Error(`The thread that unpacks ${job.name} has ended`)))
  const abort = () => reject(signal.reason as Error)
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await promise
  } finally {
    signal.removeEventListener('abort', abort)
    await worker.terminate()
  }
}
