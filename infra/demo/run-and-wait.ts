import { followRun, type ServiceClient } from '@sluice/client'
import { dataPipelines, type Run, type RunBody, type UploadedFile } from '@sluice/client/pipeline'

/** Milliseconds between two calls of `onProgress` without progress. */
const repeatMs = 1_000

interface FollowOptions {
  onProgress: (run: Run) => void
  signal?: AbortSignal | undefined
}

/**
 * Queues a run of an uploaded file and waits until it ends. A run that started before the upload loads the older file,
 * so another run is queued after it.
 */
export async function runToCompletion(
  pipeline: ServiceClient,
  uid: string,
  { uploaded }: UploadedFile,
  options: FollowOptions,
  body: RunBody = {},
): Promise<Run> {
  for (;;) {
    const envelope = await pipeline.call(dataPipelines.run, { params: { uid }, body })
    const run = await waitForRun(pipeline, uid, String(envelope.data?.['taskId']), options)
    if (Date.parse(run.created) >= Date.parse(uploaded)) return run
  }
}

async function waitForRun(pipeline: ServiceClient, uid: string, taskId: string, { onProgress, signal }: FollowOptions) {
  let run: Run | undefined
  const timer = setInterval(() => run && onProgress(run), repeatMs)
  try {
    for await (const { event, data } of followRun(pipeline, { uid, taskId, signal })) {
      if (event !== 'run') continue
      run = data
      onProgress(run)
    }
  } finally {
    clearInterval(timer)
  }
  if (!run) throw new Error(`The stream of run ${taskId} of pipeline ${uid} ended without the run.`)
  return run
}
