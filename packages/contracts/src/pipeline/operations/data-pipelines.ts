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
    summary: 'Save several data pipelines',
    description:
      'Saves all pipelines or none. Each one replaces the pipeline with its name, or is created if the name is new; `id` and `client` are ignored, so that an export can be saved elsewhere. The violations of all pipelines have pointers into the list.',
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
    summary: 'Reset the cursor of incremental loads',
    description:
      'The next run reads everything and replaces the rows, in any mode. With `from`, the next incremental run reads and merges the changes since then; sources whose cursor is not a time reject `from`.',
    method: 'post',
    path: '/data-pipelines/:uid/reset-cursor',
    guard: manage,
    body: CursorResetBody,
    response: ResultEnvelope,
  }),
  restore: signature({
    id: 'dataPipelines.restore',
    summary: 'Restore the rows before the last load',
    description:
      'Queues a run that publishes the previous rows again, with their columns, types and cursor, in all tables of the pipeline at once. The replaced rows are kept, so restoring twice undoes the first. Incremental loads keep no previous rows: the restored table is that before the last full load. For schemas in PostgreSQL and ClickHouse.',
    method: 'post',
    path: '/data-pipelines/:uid/restore',
    guard: manage,
    status: 202,
    response: ResultEnvelope,
  }),
  upload: signature({
    id: 'dataPipelines.upload',
    summary: 'Upload the file that the next run loads',
    description: 'The body is the file, streamed. A second upload replaces the first when it is complete.',
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
    summary: 'Preview a source before it is saved',
    description:
      'Returns the first rows: of a query or table for databases, and of the file of the pipeline `id` for uploads. With `id`, the stored password replaces an absent one. All other fields of a pipeline are accepted and ignored.',
    method: 'post',
    path: '/data-pipelines/preview',
    guard: manage,
    effect: 'read',
    body: SourceBody,
    response: SourcePreview,
  }),
  previewFile: signature({
    id: 'dataPipelines.previewFile',
    summary: 'Preview a file before it is saved',
    description:
      'The body is the start of the file: only the first 4 MB are read, so send no more. Upload a larger workbook, archive, JSON document or Parquet file first.',
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
    summary: 'Test the connection to a source before it is saved',
    description:
      'A failed test is a successful response with the status ERROR, a code and a message. With `id`, the stored password replaces an absent one.',
    method: 'post',
    path: '/data-pipelines/test-connection',
    guard: manage,
    effect: 'read',
    body: SourceBody,
    response: ResultEnvelope,
  }),
  testConnection: signature({
    id: 'dataPipelines.testConnection',
    summary: 'Test the connection to the source of a pipeline',
    description: 'A failed test is a successful response with the status ERROR, a code and a message.',
    method: 'post',
    path: '/data-pipelines/:uid/test-connection',
    guard: manage,
    effect: 'read',
    response: ResultEnvelope,
  }),
  lookup: signature({
    id: 'dataPipelines.lookup',
    summary: 'List the options of a source before it is saved',
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
    summary: 'List the options of the source of a pipeline',
    description:
      'The saved jdbcSource or url replaces an absent one. The stored password or token replaces an absent one if the address is the stored one.',
    method: 'post',
    path: '/data-pipelines/:uid/lookups/:kind',
    guard: manage,
    effect: 'read',
    body: SourceLookupBody,
    response: listOf(LookedUp),
  }),
  ...rejectedRowsSignature(pipeline, 'List rejected rows with their position and the reason'),
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
    summary: 'Stream the log and the progress',
    description:
      'Server-sent events: `log` with a LogEntry, and `run` with the current Run after each progress. The stream starts with the first line of the newest run, or after the line Last-Event-ID.',
    method: 'get',
    path: '/data-pipelines/:uid/logs/stream',
    guard: see,
    query: LogStreamQuery,
    response: LogEntry,
    events: true,
  }),
  table: signature({
    id: 'dataPipelines.table',
    summary: 'Read the loaded table: columns, rows, size',
    method: 'get',
    path: '/data-pipelines/:uid/table',
    guard: seeData,
    response: Table,
  }),
  data: signature({
    id: 'dataPipelines.data',
    summary: 'Read the loaded rows',
    method: 'get',
    path: '/data-pipelines/:uid/data',
    guard: seeData,
    query: DataQuery,
    response: QueryResult,
  }),
}
