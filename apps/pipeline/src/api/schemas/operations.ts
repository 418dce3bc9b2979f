import { pipelineOperations } from '@sluice/contracts'
import { recordOperations, createSharingOperations } from '@sluice/records'
import { createLineageOperation } from '../objects/read-lineage.ts'
import { definePipelineOperation } from '../operation-context.ts'
import { assertSharingTargets } from '../object-access.ts'
import { schemaRecords } from './records.ts'
import { schemaWriting } from './write.ts'

const schemaResource = { operation: definePipelineOperation, records: schemaRecords, writing: schemaWriting }

export const schemaOperations = {
  ...recordOperations(pipelineOperations.schemas, schemaResource),
  ...createSharingOperations(pipelineOperations.schemas, schemaResource, assertSharingTargets),
  ...createLineageOperation(pipelineOperations.schemas, { kind: 'SCHEMA', records: schemaRecords }),
}
