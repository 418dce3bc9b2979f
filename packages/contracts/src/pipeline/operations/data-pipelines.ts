import { listOf } from '../../contract.ts'
import { ResultEnvelope } from '../../envelope.ts'
import { signature } from '../../operation.ts'
import { recordSignatures, sharingSignatures } from '../../record-signatures.ts'
import { DataPipelinesBody, SavedDataPipelines } from '../data-pipelines-bulk.ts'
import { DataPipeline, DataPipelineBody, SourceBody } from '../data-pipeline/data-pipeline.ts'
import { connectorTypes } from '../data-pipeline/systems.ts'
import { UploadedFile, UploadQuery } from '../data-pipeline/uploaded-file.ts'
import { qualityResultsSignature } from '../quality-results-signature.ts'
import { LookedUp, SourceLookupBody } from '../lookup.ts'
import { FilePreviewQuery, SourcePreview } from '../preview.ts'
import { rejectedRowsSignature, runSignatures } from '../run-signatures.ts'
import { CursorResetBody, LogEntry, LogQuery, LogStreamQuery } from '../run.ts'
import { DataQuery, QueryResult, Table } from '../table.ts'

const pipeline = {
  noun: 'data pipeline',
  plural: 'dataPipelines',
  path: '/data-pipelines',
  see: ['ROLE_SEE_DATA_PIPELINE'],
  manage: ['ROLE_MANAGE_DATA_PIPELINE'],
  resource: DataPipeline,
  body: DataPipelineBody,
} as const

const { see, manage } = pipeline
const seeData = [...see, 'ROLE_VIEW_DATA_ALL_DATA_PIPELINE'] as const

export const dataPipelineSignatures = {
  saveMany: signature({
    id: 'dataPipelines.saveMany',
    summary: 'Save many data pipelines at once',
    description:
      'All or none. Each replaces the pipeline of its name, or is created where none has the name; `id` and `client` are ignored, so that an export loads elsewhere. What is wrong is told for each, with a pointer into the list.',
    method: 'post',
    path: '/data-pipelines/bulk',
    guard: manage,
    body: DataPipelinesBody,
    response: SavedDataPipelines,
  }),
  ...recordSignatures(pipeline),
  ...sharingSignatures(pipeline),
  ...runSignatures(pipeline),
  resetCursor: signature({
    id: 'dataPipelines.resetCursor',
    summary: 'Reset where increments go on',
    description:
      'The next run reads everything and replaces the rows, whatever its mode. With `from`, the next increment reads what has changed since then and merges it; sources whose cursor is not a time refuse `from`.',
    method: 'post',
    path: '/data-pipelines/:uid/reset-cursor',
    guard: manage,
    body: CursorResetBody,
    response: ResultEnvelope,
  }),
  restore: signature({
    id: 'dataPipelines.restore',
    summary: 'Restore what the last load replaced',
    description:
      'Queues a run that publishes the previous rows again, with their columns, types and cursor, in all tables of the pipeline at once. What they replace is kept in turn, so restoring twice undoes the first. Increments keep nothing: behind them, the table before the last load that replaced it is restored. For schemas in PostgreSQL and ClickHouse.',
    method: 'post',
    path: '/data-pipelines/:uid/restore',
    guard: manage,
    status: 202,
    response: ResultEnvelope,
  }),
  upload: signature({
    id: 'dataPipelines.upload',
    summary: 'Upload the file that the next run loads',
    description: 'The body is the file itself, streamed. A second upload replaces the first once it is complete.',
    method: 'post',
    path: '/data-pipelines/:uid/file',
    guard: manage,
    ifMatch: true,
    upload: 'application/octet-stream',
    query: UploadQuery,
    response: UploadedFile,
  }),
  preview: signature({
    id: 'dataPipelines.preview',
    summary: 'The first rows of a source, before anything is saved',
    description:
      'Of a database, what the query or table gives; of an upload, the file of the pipeline that `id` names. With `id`, an absent password means the stored one. What else a pipeline has is accepted and ignored.',
    method: 'post',
    path: '/data-pipelines/preview',
    guard: manage,
    effect: 'read',
    body: SourceBody,
    response: SourcePreview,
  }),
  previewFile: signature({
    id: 'dataPipelines.previewFile',
    summary: 'The first rows of a file, before anything is saved',
    description:
      'The body is the beginning of the file: the first 4 MB are looked at, so send no more. A workbook, an archive, a JSON document or a Parquet file that is larger has to be uploaded first.',
    method: 'post',
    path: '/data-pipelines/preview-file',
    guard: manage,
    effect: 'read',
    upload: 'application/octet-stream',
    query: FilePreviewQuery,
    response: SourcePreview,
  }),
  testSource: signature({
    id: 'dataPipelines.testSource',
    summary: 'Try to reach a source, before anything is saved',
    description:
      'What is wrong is an answer too: status ERROR, a code and a sentence. With `id`, an absent password means the stored one.',
    method: 'post',
    path: '/data-pipelines/test-connection',
    guard: manage,
    effect: 'read',
    body: SourceBody,
    response: ResultEnvelope,
  }),
  testConnection: signature({
    id: 'dataPipelines.testConnection',
    summary: 'Try to reach the source of a pipeline, as it is saved',
    description: 'What is wrong is an answer too: status ERROR, a code and a sentence.',
    method: 'post',
    path: '/data-pipelines/:uid/test-connection',
    guard: manage,
    effect: 'read',
    response: ResultEnvelope,
  }),
  lookup: signature({
    id: 'dataPipelines.lookup',
    summary: 'What a source has to choose from, before anything is saved',
    description: `Databases have the kind \`tables\`. DHIS2 (\`${connectorTypes.dhis2}\`) has the kinds that a destination looks up. The answer has at most 1,000 items; \`query\` narrows it.`,
    method: 'post',
    path: '/lookups/:type/:kind',
    guard: manage,
    effect: 'read',
    body: SourceLookupBody,
    response: listOf(LookedUp),
  }),
  lookupSaved: signature({
    id: 'dataPipelines.lookupSaved',
    summary: 'What the source of a pipeline has to choose from',
    description:
      'An absent jdbcSource or url means the saved one, and an absent password or token the stored one, as long as the address is that.',
    method: 'post',
    path: '/data-pipelines/:uid/lookups/:kind',
    guard: manage,
    effect: 'read',
    body: SourceLookupBody,
    response: listOf(LookedUp),
  }),
  ...rejectedRowsSignature(pipeline, 'Rows that did not fit, where and why'),
  ...qualityResultsSignature(pipeline),
  logs: signature({
    id: 'dataPipelines.logs',
    summary: 'Read the log',
    method: 'get',
    path: '/data-pipelines/:uid/logs',
    guard: see,
    query: LogQuery,
    response: listOf(LogEntry),
    paged: true,
  }),
  followLogs: signature({
    id: 'dataPipelines.followLogs',
    summary: 'Follow the log and the progress as they are written',
    description:
      'Server-sent events: `log` with a LogEntry, and `run` with the Run that is under way, each time that it got further. It begins with the first line of the newest run, or behind the line that Last-Event-ID names.',
    method: 'get',
    path: '/data-pipelines/:uid/logs/stream',
    guard: see,
    query: LogStreamQuery,
    response: LogEntry,
    events: true,
  }),
  table: signature({
    id: 'dataPipelines.table',
    summary: 'The loaded table: columns, rows, size',
    method: 'get',
    path: '/data-pipelines/:uid/table',
    guard: seeData,
    response: Table,
  }),
  data: signature({
    id: 'dataPipelines.data',
    summary: 'The loaded rows',
    method: 'get',
    path: '/data-pipelines/:uid/data',
    guard: seeData,
    query: DataQuery,
    response: QueryResult,
  }),
}
