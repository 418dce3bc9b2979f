import { ReadingThread } from '../../reading-thread.ts'
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
  const program = new URL('./normalise-thread.ts', import.meta.url)
  const resourceLimits = { maxOldGenerationSizeMb: heap }
  await using thread = new ReadingThread<Message>(
    { program, name: 'spool', job, reading: job.name, resourceLimits },
    signal,
  )
  for (;;) {
    const message = await thread.receive()
    if (message.kind === 'done') return message.normalised
    onProgress(message.bytes)
  }
}
