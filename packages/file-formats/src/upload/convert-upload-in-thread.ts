import { SourceProblem } from '@sluice/row-stream'
import type { NormalisedFile, NormaliseJob } from '../format/converted-upload.ts'
import { startReaderThread } from '../start-reader-thread.ts'

/**
 * The maximum bytes that a thread may have read and written in order to be reused. After a larger job it ends: freeing
 * its heap is worth the 0.1 s that a new thread takes.
 */
const maxBytesToReuseThread = 4 * 1024 * 1024

/**
 * Converts an upload in a separate thread. After an abort, the thread has ended before the promise rejects, so the
 * caller may then close the descriptors. Throws the signal's reason, SourceProblem, or the thread's error.
 */
export async function normaliseInThread(
  job: NormaliseJob,
  signal: AbortSignal,
  onProgress: (bytes: number) => void,
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
      if (job.size + message.result.size <= maxBytesToReuseThread) thread.release()
      return message.result
    }
    if (message.kind === 'progress') onProgress(message.totals.bytesRead)
  }
}
