import { setTimeout as pause } from 'node:timers/promises'
import { ServiceUnavailable, type ServiceClient } from '@sluice/client'
import { pipelineOperations, type Run, type UploadedFile } from '@sluice/contracts'

const { dataPipelines } = pipelineOperations
/** Milliseconds that the service may be unavailable: a restart, not an outage. */
const unavailableMs = 60_000

interface Following {
  seen: (run: Run) => void
  signal?: AbortSignal | undefined
}

/**
 * Queues a run of an uploaded file and waits until it ends. A run that started before the upload loads the older file,
 * so another run is queued after it.
 */
export async function runToTheEnd(
  pipeline: ServiceClient,
  uid: string,
  { uploaded }: UploadedFile,
  following: Following,
): Promise<Run> {
  for (;;) {
    const envelope = await pipeline.call(dataPipelines.run, { params: { uid }, body: {} })
    const run = await followRun(pipeline, uid, String(envelope.data?.['taskId']), following)
    if (Date.parse(run.created) >= Date.parse(uploaded)) return run
  }
}

async function followRun(pipeline: ServiceClient, uid: string, taskId: string, { seen, signal }: Following) {
  let answered = performance.now()
  for (let wait = 50; ; wait = Math.min(wait * 1.3, 500)) {
    try {
      const run = await findRun(pipeline, uid, taskId)
      answered = performance.now()
      seen(run)
      if (run.finished) return run
    } catch (error) {
      if (!(error instanceof ServiceUnavailable) || performance.now() - answered > unavailableMs) throw error
    }
    await pause(wait, undefined, { signal })
  }
}

async function findRun(pipeline: ServiceClient, uid: string, taskId: string): Promise<Run> {
  const runs = await pipeline.call(dataPipelines.runs, { params: { uid }, query: { pageSize: 50 } })
  const run = runs.find((run) => run.taskId === taskId)
  if (!run) throw new Error(`Run ${taskId} of pipeline ${uid} is not among its latest runs.`)
  return run
}
