import { pipelineOperations } from '@sluice/contracts'
import { recordOperations, createSharingOperations } from '@sluice/records'
import { definePipelineOperation } from '../operation-context.ts'
import { createLineageOperation } from '../objects/read-lineage.ts'
import { runOperations } from '../runs/operations.ts'
import { createRejectedRowsOperation } from '../runs/rejected-rows-operation.ts'
import { assertSharingTargets } from '../object-access.ts'
import { lookUpSaved, testConnection, testTarget } from './test-connection.ts'
import { destinationRecords } from './records.ts'
import { destinationBulkSave, destinationWriting } from './write.ts'
import { saveManyOperation } from '../bulk-saves/save-by-name.ts'

const destinationResource = {
  operation: definePipelineOperation,
  records: destinationRecords,
  writing: destinationWriting,
}
const { destinations: signatures } = pipelineOperations

export const destinationOperations = {
  // Must precede `/destinations/:uid`, which would match this path too.
  testTarget: definePipelineOperation(signatures.testTarget, testTarget),
  ...recordOperations(signatures, destinationResource),
  saveMany: saveManyOperation(signatures.saveMany, destinationBulkSave),
  ...createSharingOperations(signatures, destinationResource, assertSharingTargets),
  ...createLineageOperation(signatures, { kind: 'DESTINATION', records: destinationRecords }),
  ...runOperations(signatures, { kind: 'DESTINATION', records: destinationRecords }),
  ...createRejectedRowsOperation(signatures, destinationRecords),
  testConnection: definePipelineOperation(signatures.testConnection, testConnection),
  lookup: definePipelineOperation(signatures.lookup, lookUpSaved),
}
