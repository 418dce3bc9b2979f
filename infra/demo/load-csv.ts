import { basename, extname } from 'node:path'
import { serviceClient, type ServiceClient } from '@sluice/client'
import {
  dataPipelines,
  type DataPipeline,
  type QueryResult,
  type RejectedRow,
  type Run,
  type Schema,
  type Table,
  type UploadedFile,
} from '@sluice/client/pipeline'
import { findOrCreatePipeline, findOrCreateSchema } from './find-or-create.ts'
import { runToCompletion } from './run-and-wait.ts'
import { inspectUploadFile, uploadFile } from './upload-file.ts'

export interface CsvLoad {
  pipelineUrl: string
  token: () => Promise<string>
  /** Path of the CSV file. */
  file: string
  /** The name of the file at the service; by default its own name. */
  fileName?: string
  /**
   * The name of the pipeline; by default the file name without its ending. An existing pipeline with the name is used.
   */
  name?: string | undefined
  /** The name of the schema, by default `demo`. */
  schema?: string
  /** The number of rows to return, at most 10,000, by default 5. */
  firstRows?: number
  watch?: LoadWatch
  /** Ends the upload and the waiting. A queued run continues. */
  signal?: AbortSignal | undefined
}

export interface LoadWatch {
  uploading?(sent: number, size: number): void
  /** Called with the run after each progress, and every second. */
  running?(run: Run): void
}

export interface LoadedCsv {
  schema: Schema
  pipeline: DataPipeline
  file: UploadedFile
  /** The ended run. A status other than OK and WARNING has left the table unchanged. */
  run: Run
  /** Undefined if the table was never loaded. */
  table: Table | undefined
  data: QueryResult | undefined
  /** The first rejected rows. */
  rejected: RejectedRow[]
  /** Milliseconds. */
  timing: { upload: number; queued: number; load: number }
}

/**
 * Creates or finds a schema and a CSV_UPLOAD pipeline, uploads the file as a stream, runs the pipeline and reads the
 * table. Rejects with UserError (the file), RemoteProblem, ServiceUnavailable, or the signal's reason. A failed run is
 * a result.
 */
export async function loadCsv(load: CsvLoad): Promise<LoadedCsv> {
  const { file: path, watch = {}, signal, firstRows = 5 } = load
  const source = await inspectUploadFile(path, load.fileName ?? basename(path))
  const service = serviceClient({ baseUrl: load.pipelineUrl, token: load.token })
  const schema = await findOrCreateSchema(service, load.schema ?? 'demo')
  const pipeline = await findOrCreatePipeline(service, load.name ?? basename(path, extname(path)), schema)

  const startedAt = performance.now()
  const onSent = (bytes: number) => watch.uploading?.(bytes, source.size)
  onSent(0)
  const file = await uploadFile(service, pipeline.id, source, { sent: onSent, signal })
  const upload = performance.now() - startedAt

  const run = await runToCompletion(service, pipeline.id, file, { onProgress: (run) => watch.running?.(run), signal })
  const loaded = run.status === 'OK' || run.status === 'WARNING'
  return {
    schema,
    pipeline,
    file,
    run,
    ...(loaded ? await readTable(service, pipeline.id, firstRows) : { table: undefined, data: undefined }),
    rejected: run.progress.rowsRejected > 0 ? await readRejectedRows(service, pipeline.id, run) : [],
    timing: { upload, ...calculateTimes(run) },
  }
}

async function readTable(service: ServiceClient, uid: string, pageSize: number) {
  const params = { uid }
  const [table, data] = await Promise.all([
    service.call(dataPipelines.table, { params }),
    service.call(dataPipelines.data, { params, query: { pageSize } }),
  ])
  return { table, data }
}

const readRejectedRows = (service: ServiceClient, uid: string, { taskId }: Run) =>
  service.call(dataPipelines.rejectedRows, { params: { uid, taskId }, query: { pageSize: 5 } })

/** Returns the milliseconds in the queue and of the load, by the clock of the service. */
function calculateTimes({ created, started, finished }: Run) {
  const parseTime = (time: string | undefined, fallback: number) => (time === undefined ? fallback : Date.parse(time))
  const createdMs = Date.parse(created)
  const startedMs = parseTime(started, createdMs)
  return { queued: startedMs - createdMs, load: parseTime(finished, startedMs) - startedMs }
}
