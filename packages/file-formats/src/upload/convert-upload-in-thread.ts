import { SourceProblem } from '@sluice/row-stream'
import type { ConvertedFile, ConversionJob, ConversionResult } from '../format/conversion-job.ts'
import { startReaderThread } from '../start-reader-thread.ts'

/**
 * A thread is reused if its job read and wrote only a few bytes, or if it has left only little memory in use. Otherwise
 * the thread ends: freeing its memory is worth the 0.2 s of processor time that a new thread takes.
 */
const maxBytesOfSmallJob = 4 * 1024 * 1024
const maxMemoryOfReusedThread = 24 * 1024 * 1024

/**
 * Converts an upload in a separate thread. After an abort, the promise rejects only when the thread has ended, so that
 * the caller may close the descriptors. Throws SourceProblem, the signal's reason or the thread's error.
 */
export async function convertInThread(
  job: ConversionJob,
  signal: AbortSignal,
  onProgress: (bytes: number) => void,
): Promise<ConvertedFile> {
  signal.throwIfAborted()
  const { name: reading, limits } = job
  const tooDenseMessage = `${reading} needs more memory than a file may take. Save it as CSV and upload that, or upload it in parts.`
  const tooDense = new SourceProblem('FILE_TOO_DENSE', tooDenseMessage)
  const options = { reading, heapMegabytes: limits.heapMegabytes, tooDense }
  await using thread = startReaderThread<ConversionResult>('convert', job, options, signal)
  for (;;) {
    const message = await thread.receive()
    if (message.kind === 'done') {
      const { file, memoryBytes } = message.result
      const isSmallJob = job.size + file.size <= maxBytesOfSmallJob
      if (isSmallJob || memoryBytes <= maxMemoryOfReusedThread) thread.release()
      return file
    }
    if (message.kind === 'progress') onProgress(message.totals.bytesRead)
  }
}
