import { listOf } from '../../contract.ts'
import { ResultEnvelope } from '../../result-envelope.ts'
import { defineSignature } from '../../operation-signature.ts'
import { defineBulkSignature, defineRecordSignatures, defineSharingSignature } from '../../crud-operation-signatures.ts'
import { SingleLineText } from '../../field-types.ts'
import { DataPipeline, DataPipelineBody, SourceBody } from '../data-pipeline/data-pipeline.ts'
import { connectorTypes } from '../data-pipeline/connector-types.ts'
import { UploadedFile, UploadQuery } from '../data-pipeline/uploaded-file.ts'
import { defineLineageSignature } from '../lineage.ts'
import { defineQualityResultsSignature } from '../quality-results-signature.ts'
import { LookedUp, SourceLookupBody } from '../source-lookup.ts'
import { FilePreviewQuery, SourcePreview } from '../preview.ts'
import { defineRejectedRowsSignature, defineRunSignatures } from '../run-operation-signatures.ts'
import { CursorResetBody, LogEntry, LogQuery, LogStreamQuery, PageQuery, TablePublication } from '../run.ts'
import { exportFileTypes } from '../export-format.ts'
import { DataQuery, QueryResult, Table } from '../table.ts'
import { TableProfile, tableProfileNote } from '../table-profile.ts'

const pipelineResource = {
  noun: 'data pipeline',
  plural: 'dataPipelines',
  path: '/data-pipelines',
  see: ['ROLE_SEE_DATA_PIPELINE'],
  manage: ['ROLE_MANAGE_DATA_PIPELINE'],
  resource: DataPipeline,
  body: DataPipelineBody,
} as const

const { see, manage } = pipelineResource
const seeData = [...see, 'ROLE_VIEW_DATA_ALL_DATA_PIPELINE'] as const

export const dataPipelineSignatures = {
  ...defineBulkSignature(pipelineResource, { more: { type: SingleLineText } }),
  ...defineRecordSignatures(pipelineResource),
  ...defineSharingSignature(pipelineResource),
  ...defineLineageSignature(pipelineResource),
  ...defineRunSignatures(pipelineResource),
  resetCursor: defineSignature({
    id: 'dataPipelines.resetCursor',
    summary: 'Reset the cursor of incremental loads',
    description:
      'The next run reads the whole source and replaces the rows, in any mode. With `from`, the next incremental run instead merges the changes since that time. Sources whose cursor is not a time reject `from`.',
    method: 'post',
    path: '/data-pipelines/:uid/reset-cursor',
    guard: manage,
    body: CursorResetBody,
    response: ResultEnvelope,
  }),
  restore: defineSignature({
    id: 'dataPipelines.restore',
    summary: 'Restore the rows as they were before the last load',
    description:
      'Queues a run that publishes the previous rows of all tables of the pipeline at once, with their columns, types and cursor. The replaced rows are kept, so a second restore undoes the first one. Incremental loads keep no previous rows, so the restored rows are those before the last full load. Available for schemas in PostgreSQL and ClickHouse.',
    method: 'post',
    path: '/data-pipelines/:uid/restore',
    guard: manage,
    status: 202,
    response: ResultEnvelope,
  }),
  upload: defineSignature({
    id: 'dataPipelines.upload',
    summary: 'Upload the file that the next run loads',
    description: 'The body is the file. A complete upload replaces an earlier one.',
    method: 'post',
    path: '/data-pipelines/:uid/file',
    guard: manage,
    ifMatch: true,
    upload: 'application/octet-stream',
    query: UploadQuery,
    response: UploadedFile,
  }),
  preview: defineSignature({
    id: 'dataPipelines.preview',
    summary: 'Preview a source before it is saved',
    description:
      'Returns the first rows of the source: for databases, of the query or table; for uploads, of the uploaded file of the pipeline `id`. If `id` is given, the stored value of an omitted password or other secret is used. All other fields of a pipeline are accepted and ignored.',
    method: 'post',
    path: '/data-pipelines/preview',
    guard: manage,
    effect: 'read',
    body: SourceBody,
    response: SourcePreview,
  }),
  previewFile: defineSignature({
    id: 'dataPipelines.previewFile',
    summary: 'Preview a file before it is saved',
    description:
      'The body is the start of the file, of which the first 4 MB are read. To preview a larger workbook, archive, JSON document or Parquet file, upload it to a pipeline first.',
    method: 'post',
    path: '/data-pipelines/preview-file',
    guard: manage,
    effect: 'read',
    upload: 'application/octet-stream',
    query: FilePreviewQuery,
    response: SourcePreview,
  }),
  testSource: defineSignature({
    id: 'dataPipelines.testSource',
    summary: 'Test the connection to a source before it is saved',
    description:
      'A failed test returns status 200 with `status` ERROR, a code and a message. If `id` is given, the stored value of an omitted password or other secret is used.',
    method: 'post',
    path: '/data-pipelines/test-connection',
    guard: manage,
    effect: 'read',
    body: SourceBody,
    response: ResultEnvelope,
  }),
  testConnection: defineSignature({
    id: 'dataPipelines.testConnection',
    summary: 'Test the connection to the source of a pipeline',
    description: 'A failed test returns status 200 with `status` ERROR, a code and a message.',
    method: 'post',
    path: '/data-pipelines/:uid/test-connection',
    guard: manage,
    effect: 'read',
    response: ResultEnvelope,
  }),
  lookup: defineSignature({
    id: 'dataPipelines.lookup',
    summary: 'List the options of a source before it is saved',
    description: `Databases have the kinds \`tables\`, and \`columns\` and \`keys\` of the table \`within\`; the code of a column is its type, and keys are available for PostgreSQL, MySQL and MariaDB. \`OBJECT_STORAGE_BUCKET\` has \`buckets\` and \`objects\`, \`CLOUD_BLOB_STORAGE\` has \`containers\` and \`blobs\`, and \`PUBLIC_DATASET\` has \`public-datasets\`. Objects and blobs are those of one folder, \`within\`, with its folders. DHIS2 (\`${connectorTypes.dhis2}\`) has the kinds that a destination looks up. The response has at most 1,000 items; use \`query\` to narrow them.`,
    method: 'post',
    path: '/lookups/:type/:kind',
    guard: manage,
    effect: 'read',
    body: SourceLookupBody,
    response: listOf(LookedUp),
  }),
  lookupSaved: defineSignature({
    id: 'dataPipelines.lookupSaved',
    summary: 'List the options of the source of a pipeline',
    description:
      'If jdbcSource, url, bucket or container is absent, the stored value is used. If the password or token is absent, the stored one is used only if the address is the stored one.',
    method: 'post',
    path: '/data-pipelines/:uid/lookups/:kind',
    guard: manage,
    effect: 'read',
    body: SourceLookupBody,
    response: listOf(LookedUp),
  }),
  publications: defineSignature({
    id: 'dataPipelines.publications',
    summary: 'List the publications of the tables, newest first',
    description:
      'The history of the loaded tables: each run that changed their rows, and each restore, with its changes of columns and its numbers of rows. Failed runs, dry runs and runs without new rows change nothing and are left out. A publication is listed as long as its run is kept.',
    method: 'get',
    path: '/data-pipelines/:uid/publications',
    guard: see,
    query: PageQuery,
    response: listOf(TablePublication),
    paged: true,
  }),
  ...defineRejectedRowsSignature(
    pipelineResource,
    'List the rejected rows of a run, with their positions and the reasons',
  ),
  ...defineQualityResultsSignature(pipelineResource),
  logs: defineSignature({
    id: 'dataPipelines.logs',
    summary: 'Read the log',
    method: 'get',
    path: '/data-pipelines/:uid/logs',
    guard: see,
    query: LogQuery,
    response: listOf(LogEntry),
    paged: true,
  }),
  followLogs: defineSignature({
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
  table: defineSignature({
    id: 'dataPipelines.table',
    summary: 'Read the loaded table: columns, rows, size',
    method: 'get',
    path: '/data-pipelines/:uid/table',
    guard: seeData,
    response: Table,
  }),
  data: defineSignature({
    id: 'dataPipelines.data',
    summary: 'Read the loaded rows',
    method: 'get',
    path: '/data-pipelines/:uid/data',
    guard: seeData,
    query: DataQuery,
    fileTypes: exportFileTypes,
    response: QueryResult,
  }),
  profile: defineSignature({
    id: 'dataPipelines.profile',
    summary: 'Read the profile of the loaded rows',
    description: tableProfileNote,
    method: 'get',
    path: '/data-pipelines/:uid/profile',
    guard: seeData,
    response: TableProfile,
  }),
}
