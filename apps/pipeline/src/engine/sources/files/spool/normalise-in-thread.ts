import { ReadingThread } from '../../reading-thread.ts'
import { SourceProblem } from '../../source.ts'
import type { Job, Message, Normalised } from './protocol.ts'

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
  const { name: reading, limits } = job
  const resourceLimits = { maxOldGenerationSizeMb: limits.heapMegabytes }
  const dense = `${reading} needs more memory than a file may take. Save it as CSV and upload that, or upload it in parts.`
  const tooDense = new SourceProblem('FILE_TOO_DENSE', dense)
  await using thread = new ReadingThread<Message>(
    { program, name: 'spool', job, reading, resourceLimits, tooDense },
    signal,
  )
  for (;;) {
    const message = await thread.receive()
    if (message.kind === 'done') return message.normalised
    onProgress(message.bytes)
  }
}
