import { parentPort, workerData } from 'node:worker_threads'
import { DelimitedProblem, previewRows } from '../delimited/delimited.ts'
import type { PreviewJob, PreviewMessage } from './preview-in-thread.ts'

if (!parentPort) throw new Error('preview-thread.ts is a worker thread, not a program')
const port = parentPort
port.postMessage(outcomeOf(workerData as PreviewJob))

function outcomeOf({ file, options, rows }: PreviewJob): PreviewMessage {
  try {
    return { kind: 'done', preview: previewRows(file, options, { rows }) }
  } catch (error) {
    if (!(error instanceof DelimitedProblem)) throw error
    const { code, message, advice } = error
    return { kind: 'problem', code, message, ...(advice !== undefined && { advice }) }
  }
}
