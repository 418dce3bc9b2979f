import { identityOperations } from '@sluice/contracts'
import { operation } from '../operation-context.ts'
import { auditReport } from './audit.ts'
import { userAccessReport } from './user-access.ts'

const { reports } = identityOperations

export const reportOperations = {
  userAccess: operation(reports.userAccess, (input) => userAccessReport(input.query, input)),
  audit: operation(reports.audit, (input) => auditReport(input.query, input)),
}
