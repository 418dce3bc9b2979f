import { setTimeout as sleep } from 'node:timers/promises'
import {
  type CursorResetBody,
  type DataPipeline,
  type LogEntry,
  type LogQuery,
  type PageQuery,
  type ResultEnvelope,
  type RunBody,
  type Table,
  type TablePublication,
  pipelineOperations,
} from '@sluice/contracts'
import { buildPageHeaders, recordOperations, createSharingOperations } from '@sluice/records'
import { JsonResponse, type OperationInput, problems } from '@sluice/http-server'
import type { Transaction } from 'kysely'
import { qualityResultsOf } from '../data-quality/check-results.ts'
import { type PipelineContext, type RequestContext, definePipelineOperation } from '../operation-context.ts'
import { assertSharingTargets } from '../object-access.ts'
import { createLineageOperation } from '../objects/read-lineage.ts'
import { runOperations } from '../runs/operations.ts'
import { saveManyOperation } from '../bulk-saves/save-by-name.ts'
import { createRejectedRowsOperation } from '../runs/rejected-rows-operation.ts'
import { followLogs } from './follow-logs.ts'
import {
  findLoadedTable,
  findStagingTableOf,
  readLoadedProfile,
  readLoadedRows,
  readLoadedTable,
} from './loaded-table.ts'
import { lookUp, lookUpSaved } from './source-lookup.ts'
import { previewFile, previewSource } from './preview.ts'
import { type DataPipelineRow, dataPipelines } from './records.ts'
import { assertUndoSupported, readTargetSchema, restorePrevious } from './restore-previous-load.ts'
import { testConnection, testSource } from './test-connection.ts'
import { uploadFile } from './upload.ts'
import { assertRunFitsWriteMode } from './write-mode.ts'
import { dataPipelineBulkSave, dataPipelineWriting } from './write.ts'
import { listLogs, listPublications } from '../../runs/read-runs.ts'
import { presentLogEntry, presentPublication } from '../runs/run-responses.ts'
import { lookUpUsernames } from '../record-fields.ts'
import { readTableLabels, presentTable } from '../table-responses.ts'
import type { DB } from '../../database.ts'
import { getDefinition } from '@sluice/connectors/registry/connector-definitions'
import { createResultEnvelope } from '../result-envelope.ts'

type ResetCursorRequest = OperationInput<
  PipelineContext,
  '/data-pipelines/:uid/reset-cursor',
  undefined,
  CursorResetBody
>

/**
 * Stores the time from which the next incremental run reads changes. Without `from`, the next run reads everything. A
 * run that is already running does not use the stored time.
 */
async function resetCursor(input: ResetCursorRequest): Promise<ResultEnvelope> {
  const { caller, params, body, request, sources, write } = input
  const { from } = body
  const fromIso = from === undefined ? undefined : new Date(from).toISOString()
  await write(async (trx) => {
    const row = await dataPipelines.lock(trx, caller, params.uid, undefined)
    assertResettable(row, await sources.getCursorKind(row.type, row.settings), from)
    const reset = fromIso === undefined ? {} : { from: fromIso }
    await trx
      .updateTable('data_pipelines')
      .set({ cursor_reset: JSON.stringify(reset) })
      .where('id', '=', row.id)
      .execute()
    request.audit(params.uid, { cursorReset: reset })
  })
  const nextRunText =
    fromIso === undefined
      ? 'The next run reads everything and replaces the rows.'
      : `The next incremental load reads the changes since ${fromIso}.`
  return createResultEnvelope({ area: 'cursor', key: 'reset', message: `The cursor is reset. ${nextRunText}` })
}

/** Throws 422 if the pipeline has no cursor, or if its runs cannot read the changes since the time `from`. */
function assertResettable(
  { write_mode }: DataPipelineRow,
  cursorKind: Awaited<ReturnType<PipelineContext['sources']['getCursorKind']>>,
  from: string | undefined,
): void {
  if (from !== undefined && write_mode !== 'REPLACE')
    throw problems.refused(
      '/from',
      `With writeMode ${write_mode}, no run is incremental. Leave out \`from\` to read and replace everything once.`,
    )
  if (cursorKind === 'NONE')
    throw problems.refused('/', 'This pipeline has no cursor to reset, because each of its runs reads everything.')
  if (from === undefined) return
  if (cursorKind === 'OPAQUE')
    throw problems.refused(
      '/from',
      'The cursor of this source is not a point in time. Leave out `from` to read everything once.',
    )
  if (Date.parse(from) > Date.now())
    throw problems.refused('/from', 'This time is in the future. Choose a time in the past.')
}

/**
 * Throws 422 if the pipeline cannot run as requested: the request contradicts the write mode, a file was not uploaded,
 * the source does not support incremental loads, or the warehouse does not support dry runs.
 */
async function assertRunnable(
  trx: Transaction<DB>,
  row: DataPipelineRow,
  body: RunBody,
  { sources }: Pick<PipelineContext, 'sources'>,
): Promise<void> {
  assertRunFitsWriteMode(row, body)
  await assertUploaded(trx, row)
  if (body.mode === 'INCREMENTAL' && (await sources.getCursorKind(row.type, row.settings)) === 'NONE')
    throw problems.refused(
      '/mode',
      'The source of this pipeline does not support incremental runs: each run reads everything. Omit mode.',
    )
  if (body.dryRun) assertUndoSupported((await readTargetSchema(trx, row)).provider)
}

async function assertUploaded(trx: Transaction<DB>, { id, uid, type }: DataPipelineRow): Promise<void> {
  if (!getDefinition(type).upload) return
  const file = await trx.selectFrom('uploaded_files').select('uid').where('pipeline_id', '=', id).executeTakeFirst()
  if (!file)
    throw problems.refused('/file', `The pipeline has no file yet. Upload one to /api/v1/data-pipelines/${uid}/file.`)
}

/** Lists the runs of a pipeline that changed its tables, newest first. */
async function listTablePublications(
  input: OperationInput<PipelineContext, '/data-pipelines/:uid/publications', PageQuery, undefined>,
): Promise<JsonResponse<TablePublication[]>> {
  const { db, caller, params, query, request, identity } = input
  const row = await dataPipelines.read(db, caller, params.uid)
  const page = { page: query.page ?? 1, pageSize: query.pageSize ?? 50 }
  const { rows, total } = await listPublications(db, row.id, page)
  const findUsername = await lookUpUsernames(
    rows.map((run) => run.created_by),
    identity,
  )
  return new JsonResponse(
    rows.map((run) => presentPublication(run, findUsername(run.created_by))),
    buildPageHeaders({ ...page, total }, request.url),
  )
}

/** Timeout in milliseconds for reading the table from the warehouse. After it, the response omits the table. */
const tableTimeoutMs = 2_000

/**
 * Reads a pipeline with its loaded table and the name of its staging table. Omits both if the warehouse is slow or its
 * query fails. Lists always omit both, because they would need a warehouse query for each pipeline.
 */
async function readPipeline(
  input: OperationInput<PipelineContext, '/data-pipelines/:uid', undefined, undefined>,
): Promise<JsonResponse<DataPipeline>> {
  const { db, caller, params } = input
  const row = await dataPipelines.read(db, caller, params.uid)
  const [{ body, headers }, loaded, staging] = await Promise.all([
    dataPipelines.answer(row, input),
    getIfAvailable(readLoadedTableOf(input, row)),
    getIfAvailable(findStagingTableOf(input, row)),
  ])
  const isDownloadable = loaded ? loaded.table !== undefined : body.dataDownload
  return new JsonResponse(
    {
      ...body,
      dataDownload: isDownloadable,
      dataWarehouseTarget: { ...body.dataWarehouseTarget, stagingTableName: staging?.name },
      status: { ...body.status, mainTableAsTable: loaded?.table },
    },
    headers,
  )
}

/** Returns the loaded table, or an empty object if the pipeline has none. */
async function readLoadedTableOf(input: RequestContext, row: DataPipelineRow): Promise<{ table?: Table }> {
  const loadedTable = await findLoadedTable(input, row)
  if (!loadedTable) return {}
  return { table: presentTable(loadedTable.table, await readTableLabels(input.db, row, loadedTable.table)) }
}

/** Returns the result of a warehouse query; undefined if it fails or takes longer than `tableTimeoutMs`. */
async function getIfAvailable<T>(promise: Promise<T>): Promise<T | undefined> {
  const finished = new AbortController()
  const timeout = sleep(tableTimeoutMs, undefined, { signal: finished.signal }).catch(() => undefined)
  try {
    return await Promise.race([promise.catch(() => undefined), timeout])
  } finally {
    finished.abort()
  }
}

const parsePage = ({ page = 1, pageSize = 50 }: PageQuery) => ({ page, pageSize })

/** Returns a page of the log of a pipeline. */
async function listPipelineLogs(
  input: OperationInput<PipelineContext, '/data-pipelines/:uid/logs', LogQuery, undefined>,
): Promise<JsonResponse<LogEntry[]>> {
  const { db, caller, params, query, request } = input
  const pipeline = await dataPipelines.read(db, caller, params.uid)
  const page = parsePage(query)
  const { rows, total } = await listLogs(db, pipeline.id, query, page)
  const entries = rows.map((row) => presentLogEntry(row, pipeline))
  return new JsonResponse(entries, buildPageHeaders({ ...page, total }, request.url))
}

const pipelineResource = { operation: definePipelineOperation, records: dataPipelines, writing: dataPipelineWriting }
const { dataPipelines: signatures } = pipelineOperations

export const dataPipelineOperations = {
  // Must precede `/data-pipelines/:uid`, which would match these paths too.
  saveMany: saveManyOperation(signatures.saveMany, dataPipelineBulkSave),
  preview: definePipelineOperation(signatures.preview, previewSource),
  previewFile: definePipelineOperation(signatures.previewFile, previewFile),
  lookup: definePipelineOperation(signatures.lookup, lookUp),
  testSource: definePipelineOperation(signatures.testSource, testSource),
  ...recordOperations(signatures, pipelineResource),
  read: definePipelineOperation(signatures.read, readPipeline),
  ...createSharingOperations(signatures, pipelineResource, assertSharingTargets),
  ...createLineageOperation(signatures, { kind: 'DATA_PIPELINE', records: dataPipelines }),
  resetCursor: definePipelineOperation(signatures.resetCursor, resetCursor),
  restore: definePipelineOperation(signatures.restore, restorePrevious),
  upload: definePipelineOperation(signatures.upload, uploadFile),
  testConnection: definePipelineOperation(signatures.testConnection, testConnection),
  lookupSaved: definePipelineOperation(signatures.lookupSaved, lookUpSaved),
  ...runOperations(signatures, { kind: 'DATA_PIPELINE', records: dataPipelines, checkReady: assertRunnable }),
  ...createRejectedRowsOperation(signatures, dataPipelines),
  qualityResults: definePipelineOperation(signatures.qualityResults, qualityResultsOf(dataPipelines)),
  publications: definePipelineOperation(signatures.publications, listTablePublications),
  logs: definePipelineOperation(signatures.logs, listPipelineLogs),
  followLogs: definePipelineOperation(signatures.followLogs, followLogs),
  table: definePipelineOperation(signatures.table, readLoadedTable),
  data: definePipelineOperation(signatures.data, readLoadedRows),
  profile: definePipelineOperation(signatures.profile, readLoadedProfile),
}
