import { parentPort, workerData } from 'node:worker_threads'
import { createProblemMessage, SourceProblem } from '@sluice/row-stream'
import { type JobKind, JobPort, type RowsCommand, type ThreadJob } from './reader-thread-protocol.ts'

if (!parentPort) throw new Error('reader-thread.ts is a worker thread, not a program')
const mainThreadPort = parentPort
const jobPort = new JobPort((message, transfer = []) => mainThreadPort.postMessage(message, transfer))

type JobHandler = (job: never, port: JobPort) => Promise<object>

/** Loads the code for one kind of job. A thread that reads CSV, for example, needs no memory for the Parquet code. */
const handlerLoaders: Record<JobKind, () => Promise<JobHandler>> = {
  'key-rows': async () => (await import('./key-rows/find-rows-by-key.ts')).keyRowsJob,
  csv: async () => (await import('./csv/run-csv-thread-job.ts')).runCsvJob,
  convert: async () => (await import('./upload/convert-upload.ts')).convertUpload,
  parquet: async () => (await import('./parquet/parquet-thread-job.ts')).readParquetFile,
  preview: async () => (await import('./delimited/sample/preview-rows.ts')).previewJob,
}

const firstJob = workerData as ThreadJob
const handleJob = await handlerLoaders[firstJob.kind]()

async function runJob(job: object): Promise<void> {
  try {
    const result = await handleJob(job as never, jobPort)
    jobPort.endJob()
    mainThreadPort.postMessage({ kind: 'done', result }, [])
  } catch (error) {
    // Any other error ends the thread, and the main thread reports it.
    if (!(error instanceof SourceProblem)) throw error
    mainThreadPort.postMessage(createProblemMessage(error), [])
    mainThreadPort.close()
  }
}

mainThreadPort.on('message', (message: RowsCommand | ThreadJob) => {
  if ('job' in message) void runJob(message.job!)
  else jobPort.handle(message as RowsCommand)
})
if (firstJob.job) void runJob(firstJob.job)
