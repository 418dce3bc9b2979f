import type { DelimitedOptions, DelimitedPreview } from '../delimited/delimited.ts'
import { type ProblemMessage, ReadingThread } from '@sluice/row-stream'

export interface PreviewJob {
  file: { fd: number; name: string }
  options: DelimitedOptions
  rows: number
}

export type PreviewMessage = { kind: 'done'; preview: DelimitedPreview } | ProblemMessage

/**
 * Runs `previewRows` in a thread: samples of a large file take a tenth of a second, which would block the event loop. Ends
 * at once when the signal aborts. Throws `SourceProblem`, or the signal's reason.
 */
export async function previewInThread(job: PreviewJob, signal: AbortSignal): Promise<DelimitedPreview> {
  signal.throwIfAborted()
  const program = new URL('./preview-thread.ts', import.meta.url)
  await using thread = new ReadingThread<PreviewMessage>(
    { program, name: 'preview', job, reading: job.file.name },
    signal,
  )
  return (await thread.receive()).preview
}
