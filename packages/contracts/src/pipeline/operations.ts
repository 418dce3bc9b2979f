import { listOf } from '../contract.ts'
import { ResultEnvelope } from '../envelope.ts'
import { signature } from '../operation.ts'
import { recordSignatures, sharingSignatures } from '../record-signatures.ts'
import { DataPipeline, DataPipelineBody } from './data-pipeline/data-pipeline.ts'
import { UploadedFile } from './data-pipeline/uploaded-file.ts'
import { UploadQuery } from './upload.ts'
import { LogEntry, LogQuery, LogStreamQuery, PageQuery, RejectedRow, Run, RunBody } from './run.ts'
import { Schema, SchemaBody } from './schema.ts'
import { DataQuery, QueryResult, Table } from './table.ts'

const schema = {
  noun: 'schema',
  plural: 'schemas',
  path: '/schemas',
  see: ['ROLE_SEE_SCHEMA'],
  manage: ['ROLE_MANAGE_SCHEMA'],
  resource: Schema,
  body: SchemaBody,
} as const

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

/** Everything that the pipeline service can be asked. */
export const pipelineOperations = {
  schemas: { ...recordSignatures(schema), ...sharingSignatures(schema) },
  dataPipelines: {
    ...recordSignatures(pipeline),
    ...sharingSignatures(pipeline),
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
    run: signature({
      id: 'dataPipelines.run',
      summary: 'Queue a run',
      method: 'post',
      path: '/data-pipelines/:uid/run',
      guard: manage,
      status: 202,
      body: RunBody,
      response: ResultEnvelope,
    }),
    cancel: signature({
      id: 'dataPipelines.cancel',
      summary: 'Cancel the run that is queued or running',
      method: 'post',
      path: '/data-pipelines/:uid/cancel',
      guard: manage,
      status: 202,
      response: ResultEnvelope,
    }),
    runs: signature({
      id: 'dataPipelines.runs',
      summary: 'List runs, newest first',
      method: 'get',
      path: '/data-pipelines/:uid/runs',
      guard: see,
      query: PageQuery,
      response: listOf(Run),
      paged: true,
    }),
    rejectedRows: signature({
      id: 'dataPipelines.rejectedRows',
      summary: 'Rows that did not fit, where and why',
      method: 'get',
      path: '/data-pipelines/:uid/runs/:taskId/rejected-rows',
      guard: see,
      query: PageQuery,
      response: listOf(RejectedRow),
      paged: true,
    }),
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
  },
}
