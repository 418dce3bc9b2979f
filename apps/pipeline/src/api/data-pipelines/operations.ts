import { pipelineOperations } from '@sluice/contracts'
import { recordOperations, sharingOperations } from '@sluice/records'
import { qualityResultsOf } from '../data-quality/quality-results.ts'
import { operation } from '../operation.ts'
import { checkSharingTargets } from '../sharing-targets.ts'
import { runOperations } from '../runs/operations.ts'
import { rejectedRowsOperation } from '../runs/rejected-rows.ts'
import { assertRunnable } from './assert-runnable.ts'
import { followLogs } from './follow-logs.ts'
import { readData, readTable } from './loaded-table.ts'
import { lookUp, lookUpSaved } from './lookup.ts'
import { previewFile } from './preview-file.ts'
import { previewSource } from './preview.ts'
import { readPipeline } from './read-pipeline.ts'
import { dataPipelines } from './records.ts'
import { logs } from './run-history.ts'
import { resetCursor } from './reset-cursor.ts'
import { restorePrevious } from './restore.ts'
import { saveDataPipelines } from './save-many.ts'
import { testConnection, testSource } from './test-connection.ts'
import { uploadFile } from './upload.ts'
import { dataPipelineWriting } from './write.ts'

const kind = { operation, records: dataPipelines, writing: dataPipelineWriting }
const { dataPipelines: signatures } = pipelineOperations

export const dataPipelineOperations = {
  // Before those of one pipeline, as whose uid their names could be taken.
  saveMany: operation(signatures.saveMany, saveDataPipelines),
  preview: operation(signatures.preview, previewSource),
  previewFile: operation(signatures.previewFile, previewFile),
  lookup: operation(signatures.lookup, lookUp),
  testSource: operation(signatures.testSource, testSource),
  ...recordOperations(signatures, kind),
  read: operation(signatures.read, readPipeline),
  ...sharingOperations(signatures, kind, checkSharingTargets),
  resetCursor: operation(signatures.resetCursor, resetCursor),
  restore: operation(signatures.restore, restorePrevious),
  upload: operation(signatures.upload, uploadFile),
  testConnection: operation(signatures.testConnection, testConnection),
  lookupSaved: operation(signatures.lookupSaved, lookUpSaved),
  ...runOperations(signatures, { kind: 'DATA_PIPELINE', records: dataPipelines, checkReady: assertRunnable }),
  ...rejectedRowsOperation(signatures, dataPipelines),
  qualityResults: operation(signatures.qualityResults, qualityResultsOf(dataPipelines)),
  logs: operation(signatures.logs, logs),
  followLogs: operation(signatures.followLogs, followLogs),
  table: operation(signatures.table, readTable),
  data: operation(signatures.data, readData),
}
