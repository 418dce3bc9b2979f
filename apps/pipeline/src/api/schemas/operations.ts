import { pipelineOperations } from '@sluice/contracts'
import { recordOperations, sharingOperations } from '@sluice/records'
import { operation } from '../operation-context.ts'
import { assertSharingTargets } from '../object-access.ts'
import { schemas } from './records.ts'
import { schemaWriting } from './write.ts'

const schemaResource = { operation, records: schemas, writing: schemaWriting }

export const schemaOperations = {
  ...recordOperations(pipelineOperations.schemas, schemaResource),
  ...sharingOperations(pipelineOperations.schemas, schemaResource, assertSharingTargets),
}
