import { Worker } from 'node:worker_threads'
import type { DelimitedOptions, Preview } from '@sluice/delimited'
import { SourceProblem } from '../source.ts'

export interface PreviewJob {
  file: { fd: number; name: string }
  options: DelimitedOptions
  rows: number
}

export type PreviewOutcome = { preview: Preview } | { problem: { code: string; message: string } }

/**
 * `previewRows` beside the event loop: samples of a large file take it a tenth of a second, in which nobody else would be
 * answered. Ends at once when the signal aborts. Throws `SourceProblem`, or the signal's reason.
 */
export async function previewInThread(job: PreviewJob, signal: AbortSignal): Promise<Preview> {
  signal.throwIfAborted()
  const worker = new Worker(new URL('./preview-thread.ts', import.meta.url), { name: 'preview', workerData: job })
  const { promise, resolve, reject } = Promise.withResolvers<PreviewOutcome>()
  const abort = () => reject(signal.reason as Error)
  worker.once('message', resolve).once('error', reject)
  worker.once('exit', () => reject(new Error('The thread that previews a file has ended')))
  signal.addEventListener('abort', abort, { once: true })
  try {
    const outcome = await promise
    if ('problem' in outcome) throw new SourceProblem(outcome.problem.code, outcome.problem.message)
    return outcome.preview
  } finally {
    signal.removeEventListener('abort', abort)
    await worker.terminate()
  }
}
