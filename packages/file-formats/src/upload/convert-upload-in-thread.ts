import { SourceProblem } from '@sluice/row-stream'
import type { NormalisedFile, NormaliseJob, NormaliseResult } from '../format/converted-upload.ts'
import { startReaderThread } from '../start-reader-thread.ts'

/**
 * A thread is reused after a job that read and wrote up to `maxBytesOfSmallJob`, or that left up to `maxHeldBytes` in its memory. Otherwise
 * the thread ends: freeing its memory is worth the 0.2 s of processor time that a new thread takes.
 */
const maxBytesOfSmallJob = 4 * 1024 * 1024
const maxHeldBytes = 24 * 1024 * 1024

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
  const tooDenseMessage = `${reading} needs more memory than a file may take. Save it as CSV and upload that, or upload it in parts.`
  const tooDense = new SourceProblem('FILE_TOO_DENSE', tooDenseMessage)
  const options = { reading, heapMegabytes: limits.heapMegabytes, tooDense }
  await using thread = startReaderThread<NormaliseResult>('normalise', job, options, signal)
  for (;;) {
    const message = await thread.receive()
    if (message.kind === 'done') {
      const { file, heldBytes } = message.result
      if (job.size + file.size <= maxBytesOfSmallJob || heldBytes <= maxHeldBytes) thread.release()
      return file
    }
    if (message.kind === 'progress') onProgress(message.totals.bytesRead)
  }
}
