import { identityOperations } from '@sluice/contracts'
import { defineIdentityOperation } from '../operation-context.ts'
import { auditReport } from './audit.ts'
import { userAccessReport } from './user-access.ts'

const { reports } = identityOperations

export const reportOperations = {
  userAccess: defineIdentityOperation(reports.userAccess, (input) => userAccessReport(input.query, input)),
  audit: defineIdentityOperation(reports.audit, (input) => auditReport(input.query, input)),
}
