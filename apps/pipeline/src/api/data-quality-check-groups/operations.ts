import { pipelineOperations, defineRunSignatures } from '@sluice/contracts'
import { recordOperations, createSharingOperations } from '@sluice/records'
import { qualityResultsOf } from '../data-quality/check-results.ts'
import { definePipelineOperation } from '../operation-context.ts'
import { runOperations } from '../runs/operations.ts'
import { createLineageOperation } from '../objects/read-lineage.ts'
import { assertSharingTargets } from '../object-access.ts'
import { dataQualityCheckGroups } from './records.ts'
import { runGroup, startGroup } from './run-group.ts'
import { groupBulkSave, groupWriting } from './write.ts'
import { saveManyOperation } from '../bulk-saves/save-by-name.ts'

const checkGroupResource = {
  operation: definePipelineOperation,
  records: dataQualityCheckGroups,
  writing: groupWriting,
}
const { dataQualityCheckGroups: signatures } = pipelineOperations

const { cancel, runs } = runOperations(
  defineRunSignatures({
    noun: 'data quality check group',
    plural: 'dataQualityCheckGroups',
    path: '/data-quality-check-groups',
    see: ['ROLE_SEE_DATA_QUALITY_CHECK_GROUP'],
    manage: ['ROLE_MANAGE_DATA_QUALITY_CHECK_GROUP'],
  }),
  { kind: 'DATA_QUALITY_CHECK_GROUP', records: dataQualityCheckGroups },
)

export const dataQualityCheckGroupOperations = {
  ...recordOperations(signatures, checkGroupResource),
  saveMany: saveManyOperation(signatures.saveMany, groupBulkSave),
  ...createSharingOperations(signatures, checkGroupResource, assertSharingTargets),
  ...createLineageOperation(signatures, { kind: 'DATA_QUALITY_CHECK_GROUP', records: dataQualityCheckGroups }),
  run: definePipelineOperation(signatures.run, runGroup),
  start: definePipelineOperation(signatures.start, startGroup),
  cancel,
  runs,
  qualityResults: definePipelineOperation(signatures.qualityResults, qualityResultsOf(dataQualityCheckGroups)),
}
