import { ReadingThread } from '../../reading-thread.ts'
import { SourceProblem } from '../../source.ts'
import { spareThread } from '../../spare-thread.ts'
import { defaultUploadLimits, type UploadLimits } from './limits.ts'
import type { Job, Message, Normalised } from './protocol.ts'

const program = new URL('./normalise-thread.ts', import.meta.url)
const limitsOfThread = ({ heapMegabytes }: UploadLimits) => ({ maxOldGenerationSizeMb: heapMegabytes })
/** A thread is kept once there was something to normalise, not before: many loads have nothing. */
const spare = spareThread(program, 'spool', limitsOfThread(defaultUploadLimits), { ahead: false })

/** Bytes read and written up to which a thread is kept; what more has left in its heap is worth more than the 0.1 s of a new thread. */
const mostForKept = 4 * 1024 * 1024

/** Keeps the thread that normalised an upload for the next one, until what this returns is disposed of. */
export function keepNormalisingThread(): Disposable {
  return spare.keep()
}

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
  const { name: reading, limits } = job
  const resourceLimits = limitsOfThread(limits)
  const dense = `${reading} needs more memory than a file may take. Save it as CSV and upload that, or upload it in parts.`
  const tooDense = new SourceProblem('FILE_TOO_DENSE', dense)
  // A thread with other limits is no spare one.
  const shared = spare.kept && limits.heapMegabytes === defaultUploadLimits.heapMegabytes
  const lent = shared ? { ready: spare.take(), keep: spare.back } : {}
  await using thread = new ReadingThread<Message>(
    { program, name: 'spool', job, reading, resourceLimits, tooDense, ...lent },
    signal,
  )
  if (shared) spare.lent(thread.ended)
  for (;;) {
    const message = await thread.receive()
    if (message.kind === 'done') {
      if (job.size + message.normalised.size <= mostForKept) thread.letGo()
      return message.normalised
    }
    onProgress(message.bytes)
  }
}
