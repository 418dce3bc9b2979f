import { ResultEnvelope } from '../../result-envelope.ts'
import { signature } from '../../operation-signature.ts'
import { recordSignatures, sharingSignatures } from '../../crud-signatures.ts'
import { DataQualityCheckGroup, DataQualityCheckGroupBody } from '../data-quality-check.ts'
import { GroupResult, RunInput } from '../data-quality-result.ts'
import { qualityResultsSignature } from '../quality-results-signature.ts'
import { runSignatures } from '../run-signatures.ts'

const group = {
  noun: 'data quality check group',
  plural: 'dataQualityCheckGroups',
  path: '/data-quality-check-groups',
  see: ['ROLE_SEE_DATA_QUALITY_CHECK_GROUP'],
  manage: ['ROLE_MANAGE_DATA_QUALITY_CHECK_GROUP'],
  resource: DataQualityCheckGroup,
  body: DataQualityCheckGroupBody,
} as const

const { cancel, runs } = runSignatures(group)

export const dataQualityCheckGroupSignatures = {
  ...recordSignatures(group),
  ...sharingSignatures(group),
  run: signature({
    id: 'dataQualityCheckGroups.run',
    summary: 'Run all checks of a group and return their results',
    description:
      'Runs the checks one after the other. A run that takes more than one minute continues in the background. Returns and stores at most 100 violations of each check that the caller may read.',
    method: 'post',
    path: '/data-quality-check-groups/:uid/run',
    guard: group.manage,
    body: RunInput,
    response: GroupResult,
  }),
  start: signature({
    id: 'dataQualityCheckGroups.start',
    summary: 'Queue a run of all checks of a group',
    description: 'Returns the current run of the group if one is queued or running.',
    method: 'post',
    path: '/data-quality-check-groups/:uid/start',
    guard: group.manage,
    status: 202,
    body: RunInput,
    response: ResultEnvelope,
  }),
  cancel,
  runs,
  ...qualityResultsSignature(group),
}
