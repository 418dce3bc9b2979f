import { pipelineOperations } from '@sluice/contracts'
import { recordOperations, sharingOperations } from '@sluice/records'
import { lineageOperation } from '../objects/read-lineage.ts'
import { definePipelineOperation } from '../operation-context.ts'
import { assertSharingTargets } from '../object-access.ts'
import { schemaRecords } from './records.ts'
import { schemaWriting } from './write.ts'

const schemaResource = { operation: definePipelineOperation, records: schemaRecords, writing: schemaWriting }

export const schemaOperations = {
  ...recordOperations(pipelineOperations.schemas, schemaResource),
  ...sharingOperations(pipelineOperations.schemas, schemaResource, assertSharingTargets),
  ...lineageOperation(pipelineOperations.schemas, { kind: 'SCHEMA', records: schemaRecords }),
}
