import { ResultEnvelope } from '../../result-envelope.ts'
import { defineSignature } from '../../operation-signature.ts'
import { defineBulkSignature, defineRecordSignatures, defineSharingSignature } from '../../crud-operation-signatures.ts'
import { DataQualityCheckGroup, DataQualityCheckGroupBody } from '../data-quality-check.ts'
import { GroupResult, RunInput } from '../data-quality-result.ts'
import { defineLineageSignature } from '../lineage.ts'
import { defineQualityResultsSignature } from '../quality-results-signature.ts'
import { defineRunSignatures } from '../run-operation-signatures.ts'

const checkGroupResource = {
  noun: 'data quality check group',
  plural: 'dataQualityCheckGroups',
  path: '/data-quality-check-groups',
  see: ['ROLE_SEE_DATA_QUALITY_CHECK_GROUP'],
  manage: ['ROLE_MANAGE_DATA_QUALITY_CHECK_GROUP'],
  resource: DataQualityCheckGroup,
  body: DataQualityCheckGroupBody,
} as const

const { cancel, runs } = defineRunSignatures(checkGroupResource)

export const dataQualityCheckGroupSignatures = {
  ...defineBulkSignature(checkGroupResource),
  ...defineRecordSignatures(checkGroupResource),
  ...defineSharingSignature(checkGroupResource),
  ...defineLineageSignature(checkGroupResource),
  run: defineSignature({
    id: 'dataQualityCheckGroups.run',
    summary: 'Run all checks of a group and return their results',
    description:
      'Runs the checks one after the other. A run that takes more than one minute continues in the background. Returns and stores at most 100 violations of each check that the caller may read.',
    method: 'post',
    path: '/data-quality-check-groups/:uid/run',
    guard: checkGroupResource.manage,
    body: RunInput,
    response: GroupResult,
  }),
  start: defineSignature({
    id: 'dataQualityCheckGroups.start',
    summary: 'Queue a run of all checks of a group',
    description: 'Returns the current run of the group if one is queued or running.',
    method: 'post',
    path: '/data-quality-check-groups/:uid/start',
    guard: checkGroupResource.manage,
    status: 202,
    body: RunInput,
    response: ResultEnvelope,
  }),
  cancel,
  runs,
  ...defineQualityResultsSignature(checkGroupResource),
}
