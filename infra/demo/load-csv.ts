import { basename, extname } from 'node:path'
import { serviceClient, type ServiceClient } from '@sluice/client'
import {
  pipelineOperations,
  type DataPipeline,
  type QueryResult,
  type RejectedRow,
  type Run,
  type Schema,
  type Table,
  type UploadedFile,
} from '@sluice/contracts'
import { findOrCreatePipeline, findOrCreateSchema } from './find-or-create.ts'
import { runToTheEnd } from './follow-run.ts'
import { csvFile, uploadFile } from './upload-file.ts'

export interface CsvLoad {
  pipelineUrl: string
  token: () => Promise<string>
  /** Path of the CSV file. */
  file: string
  /** What the file is called over there; its own name when absent. */
  fileName?: string
  /** The pipeline's name; the file's, without its ending, when absent. One of that name is used again. */
  name?: string | undefined
  /** The schema's name; `demo` when absent. */
  schema?: string
  /** Rows of the table to answer, at most 10,000; 5 when absent. */
  firstRows?: number
  watch?: LoadWatch
  /** Ends waiting and uploading; a run that is queued goes on by itself. */
  signal?: AbortSignal | undefined
}

export interface LoadWatch {
  uploading?(sent: number, size: number): void
  /** The run, each time it was looked at. */
  running?(run: Run): void
}

export interface LoadedCsv {
  schema: Schema
  pipeline: DataPipeline
  file: UploadedFile
  /** How it ended: anything but OK and WARNING left the table as it was. */
  run: Run
  /** Undefined while nothing was ever loaded. */
  table: Table | undefined
  data: QueryResult | undefined
  /** The first of the rows that did not fit. */
  rejected: RejectedRow[]
  /** Milliseconds. */
  timing: { upload: number; queued: number; load: number }
}

const { dataPipelines } = pipelineOperations

/**
 * The main job: makes or finds a schema and a CSV_UPLOAD pipeline, uploads the file as a stream, runs it to its end and
 * reads the table. Rejects with Refusal (the file), RemoteProblem or ServiceUnavailable, or the signal's reason; a run
 * that failed is an answer.
 */
export async function loadCsv(load: CsvLoad): Promise<LoadedCsv> {
  const { file: path, watch = {}, signal, firstRows = 5 } = load
  const source = await csvFile(path, load.fileName ?? basename(path))
  const service = serviceClient({
    baseUrl: load.pipelineUrl,
    token: load.token,
    timeout: 15_000,
  })
  const schema = await findOrCreateSchema(service, load.schema ?? 'demo')
  const pipeline = await findOrCreatePipeline(service, load.name ?? basename(path, extname(path)), schema)

  const began = performance.now()
  const sent = (bytes: number) => watch.uploading?.(bytes, source.size)
  sent(0)
  const file = await uploadFile(service, pipeline.id, source, { sent, signal })
  const upload = performance.now() - began

  const run = await runToTheEnd(service, pipeline.id, file, { seen: (run) => watch.running?.(run), signal })
  const loaded = run.status === 'OK' || run.status === 'WARNING'
  return {
    schema,
    pipeline,
    file,
    run,
    ...(loaded ? await tableOf(service, pipeline.id, firstRows) : { table: undefined, data: undefined }),
    rejected: run.progress.rowsRejected > 0 ? await rejectedOf(service, pipeline.id, run) : [],
    timing: { upload, ...timesOf(run) },
  }
}

async function tableOf(service: ServiceClient, uid: string, pageSize: number) {
  const params = { uid }
  const [table, data] = await Promise.all([
    service.call(dataPipelines.table, { params }),
    service.call(dataPipelines.data, { params, query: { pageSize } }),
  ])
  return { table, data }
}

const rejectedOf = (service: ServiceClient, uid: string, { taskId }: Run) =>
  service.call(dataPipelines.rejectedRows, { params: { uid, taskId }, query: { pageSize: 5 } })

/** By the service's own clock. */
function timesOf({ created, started, finished }: Run) {
  const at = (time: string | undefined, otherwise: number) => (time === undefined ? otherwise : Date.parse(time))
  const asked = Date.parse(created)
  const begun = at(started, asked)
  return { queued: begun - asked, load: at(finished, begun) - begun }
}
