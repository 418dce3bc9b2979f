import { parentPort, workerData } from 'node:worker_threads'
import { SourceProblem } from '@sluice/row-stream'
import { normalise } from './normalise.ts'
import type { NormaliseJob, NormaliseMessage } from '../format/normalise-protocol.ts'

const progressInterval = 250

if (!parentPort) throw new Error('normalise-thread.ts is a worker thread, not a program')
const port = parentPort
const post = (message: NormaliseMessage) => port.postMessage(message, [])

let told = performance.now()
let furthest = 0

/** Progress never decreases, even if the source is read a second time. */
function tell(bytes: number): void {
  furthest = Math.max(furthest, bytes)
  const now = performance.now()
  if (now - told < progressInterval) return
  told = now
  post({ kind: 'progress', bytes: furthest })
}

async function work(job: NormaliseJob): Promise<void> {
  furthest = 0
  try {
    post({ kind: 'done', normalised: await normalise(job, tell) })
  } catch (error) {
    if (!(error instanceof SourceProblem)) throw error
    post({ kind: 'problem', code: error.code, message: error.message, cause: error.cause })
    port.close()
  }
}

// A thread that is kept gets its next job as a message.
port.on('message', (job: NormaliseJob) => void work(job))
if (workerData) void work(workerData as NormaliseJob)
