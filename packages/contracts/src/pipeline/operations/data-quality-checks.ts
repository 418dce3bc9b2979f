import { defineSignature } from '../../operation-signature.ts'
import { defineBulkSignature, defineRecordSignatures, defineSharingSignature } from '../../crud-operation-signatures.ts'
import { DataQualityCheck, DataQualityCheckBody } from '../data-quality-check.ts'
import { CheckResult, RunInput } from '../data-quality-result.ts'
import { defineLineageSignature } from '../lineage.ts'

const checkResource = {
  noun: 'data quality check',
  plural: 'dataQualityChecks',
  path: '/data-quality-checks',
  see: ['ROLE_SEE_DATA_QUALITY_CHECK'],
  manage: ['ROLE_MANAGE_DATA_QUALITY_CHECK'],
  resource: DataQualityCheck,
  body: DataQualityCheckBody,
} as const

export const dataQualityCheckSignatures = {
  ...defineBulkSignature(checkResource),
  ...defineRecordSignatures(checkResource),
  ...defineSharingSignature(checkResource),
  ...defineLineageSignature(checkResource),
  run: defineSignature({
    id: 'dataQualityChecks.run',
    summary: 'Run a check and return its violations',
    description:
      'The rows of the query are the violations. `data` contains at most 1,000 of them. If the query cannot be run, the response has status 200 with `status` ERROR and a message.',
    method: 'post',
    path: '/data-quality-checks/:uid/run',
    guard: checkResource.see,
    effect: 'read',
    body: RunInput,
    response: CheckResult,
  }),
}
