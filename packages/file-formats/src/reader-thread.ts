import { parentPort, workerData } from 'node:worker_threads'
import { SourceProblem } from '@sluice/row-stream'
import { type JobKind, JobPort, type RowsCommand, type ThreadJob } from './reader-thread-protocol.ts'

if (!parentPort) throw new Error('reader-thread.ts is a worker thread, not a program')
const port = parentPort
const jobPort = new JobPort((message, transfer = []) => port.postMessage(message, transfer))

type JobHandler = (job: never, port: JobPort) => Promise<object>

/** Loads the code for one kind of job: a thread that reads CSV has no memory for Parquet. */
const load: Record<JobKind, () => Promise<JobHandler>> = {
  csv: async () => (await import('./csv/csv-job.ts')).readCsvFile,
  normalise: async () => (await import('./upload/convert-upload.ts')).normalise,
  parquet: async () => (await import('./parquet/parquet-job.ts')).readParquetFile,
  preview: async () => (await import('./delimited/preview.ts')).previewJob,
}

const first = workerData as ThreadJob
const run = await load[first.kind]()

async function start(job: object): Promise<void> {
  try {
    const result = await run(job as never, jobPort)
    jobPort.endJob()
    port.postMessage({ kind: 'done', result }, [])
  } catch (error) {
    // Any other error ends the thread, and the main thread reports it.
    if (!(error instanceof SourceProblem)) throw error
    const { code, sentence: message, advice, cause } = error
    port.postMessage({ kind: 'problem', code, message, ...(advice && { advice }), cause }, [])
    port.close()
  }
}

port.on('message', (message: RowsCommand | ThreadJob) => {
  if ('job' in message) void start(message.job!)
  else jobPort.handle(message as RowsCommand)
})
if (first.job) void start(first.job)
