import { parentPort, workerData } from 'node:worker_threads'
import { DelimitedProblem, previewRows } from '@sluice/delimited'
import type { PreviewJob, PreviewOutcome } from './preview-in-thread.ts'

if (!parentPort) throw new Error('preview-thread.ts is a worker thread, not a program')
const port = parentPort
port.postMessage(outcomeOf(workerData as PreviewJob))

function outcomeOf({ file, options, rows }: PreviewJob): PreviewOutcome {
  try {
    return { preview: previewRows(file, options, { rows }) }
  } catch (error) {
    if (!(error instanceof DelimitedProblem)) throw error
    return { problem: { code: error.code, message: error.message } }
  }
}
