import { SourceProblem } from '@sluice/row-stream'
import type { NormalisedFile, NormaliseJob } from '../format/converted-upload.ts'
import { startReaderThread } from '../start-reader-thread.ts'

/**
 * Maximum bytes that a thread has read and written if it is reused. After a larger job the thread ends, because freeing its heap
 * is worth the 0.1 s that a new thread takes.
 */
const maxBytesToReuseThread = 4 * 1024 * 1024

/**
 * Normalises an upload in a thread of its own. An abort ends the thread before this promise rejects, so the caller may
 * then close the descriptors. Throws the abort's reason, SourceProblem, or the thread's error.
 */
export async function normaliseInThread(
  job: NormaliseJob,
  signal: AbortSignal,
  onProgress: (bytes: number) => void,
  { maxBytesToReuse = maxBytesToReuseThread } = {},
): Promise<NormalisedFile> {
  signal.throwIfAborted()
  const { name: reading, limits } = job
  const dense = `${reading} needs more memory than a file may take. Save it as CSV and upload that, or upload it in parts.`
  const tooDense = new SourceProblem('FILE_TOO_DENSE', dense)
  const options = { reading, heapMegabytes: limits.heapMegabytes, tooDense }
  await using thread = startReaderThread<NormalisedFile>('normalise', job, options, signal)
  for (;;) {
    const message = await thread.receive()
    if (message.kind === 'done') {
      if (job.size + message.result.size <= maxBytesToReuse) thread.release()
      return message.result
    }
    if (message.kind === 'progress') onProgress(message.totals.bytesRead)
  }
}
