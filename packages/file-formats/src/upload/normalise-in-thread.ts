import { ReadingThread, SourceProblem, spareThread } from '@sluice/row-stream'
import { defaultUploadLimits, type UploadLimits } from '../spool/limits.ts'
import type { NormalisedFile } from '../format/normalised-file.ts'
import type { NormaliseJob, NormaliseMessage } from '../format/normalise-protocol.ts'

const program = new URL('./normalise-thread.ts', import.meta.url)
const limitsOfThread = ({ heapMegabytes }: UploadLimits) => ({ maxOldGenerationSizeMb: heapMegabytes })
/** No thread starts before the first job, because many loads need no normalising. */
const spare = spareThread(program, 'spool', limitsOfThread(defaultUploadLimits), { startEarly: false })

/** Bytes read and written. Threads that handled more are ended: freeing their heap is worth the 0.1 s that a new thread takes. */
const maxBytesToReuseThread = 4 * 1024 * 1024

/** Keeps the thread that normalised an upload for the next upload, until the returned object is disposed of. */
export function keepNormaliserThread(): Disposable {
  return spare.keep()
}

/**
 * Normalises an upload in a thread of its own. An abort ends the thread before this promise rejects, so the caller may
 * then close the descriptors. Throws the abort's reason, SourceProblem, or the thread's error.
 */
export async function normaliseInThread(
  job: NormaliseJob,
  signal: AbortSignal,
  onProgress: (bytes: number) => void,
): Promise<NormalisedFile> {
  signal.throwIfAborted()
  const { name: reading, limits } = job
  const resourceLimits = limitsOfThread(limits)
  const dense = `${reading} needs more memory than a file may take. Save it as CSV and upload that, or upload it in parts.`
  const tooDense = new SourceProblem('FILE_TOO_DENSE', dense)
  // The spare thread has the default limits; other limits need a new thread.
  const usesSpareThread = spare.isKept && limits.heapMegabytes === defaultUploadLimits.heapMegabytes
  const pooling = usesSpareThread ? { ready: spare.take(), keep: spare.giveBack } : {}
  await using thread = new ReadingThread<NormaliseMessage>(
    { program, name: 'spool', job, reading, resourceLimits, tooDense, ...pooling },
    signal,
  )
  if (usesSpareThread) spare.trackBorrowed(thread.ended)
  for (;;) {
    const message = await thread.receive()
    if (message.kind === 'done') {
      if (job.size + message.normalised.size <= maxBytesToReuseThread) thread.letGo()
      return message.normalised
    }
    onProgress(message.bytes)
  }
}
