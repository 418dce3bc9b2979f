import { identityOperations } from '@sluice/contracts'
import { defineIdentityOperation } from '../operation-context.ts'
import { readAuditReport } from './audit.ts'
import { readUserAccessReport } from './user-access.ts'

const { reports } = identityOperations

export const reportOperations = {
  userAccess: defineIdentityOperation(reports.userAccess, (input) => readUserAccessReport(input.query, input)),
  audit: defineIdentityOperation(reports.audit, (input) => readAuditReport(input.query, input)),
}
