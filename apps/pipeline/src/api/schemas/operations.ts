import { pipelineOperations } from '@sluice/contracts'
import { recordOperations, sharingOperations } from '@sluice/records'
import { operation } from '../operation-context.ts'
import { assertSharingTargets } from '../object-access.ts'
import { schemas } from './records.ts'
import { schemaWriting } from './write.ts'

const kind = { operation, records: schemas, writing: schemaWriting }

export const schemaOperations = {
  ...recordOperations(pipelineOperations.schemas, kind),
  ...sharingOperations(pipelineOperations.schemas, kind, assertSharingTargets),
}
