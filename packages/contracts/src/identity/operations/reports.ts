import { defineSignature } from '../../operation-signature.ts'
import { ListQuery } from '../../search.ts'
import { TabularResult } from '../../tabular-result.ts'
import { UserListQuery } from '../user.ts'

/**
 * Operations that return reports. They take the same query parameters as lists. Their totals are in `metaData.pager`.
 */
export const reportSignatures = {
  userAccess: defineSignature({
    id: 'reports.userAccess',
    summary: 'List users and their access',
    method: 'get',
    path: '/reports/user-access',
    guard: ['ROLE_MANAGE_USER'],
    query: UserListQuery,
    response: TabularResult,
  }),
  audit: defineSignature({
    id: 'reports.audit',
    summary: 'Audit log',
    description:
      'Returns the newest entries first: operations by members of the client, and operations of others on the client. Super admins see all clients. `metaData.pager.nextCursor` is the `after` of the next page. Add a filter on "at" to search a long log faster.',
    method: 'get',
    path: '/reports/audit',
    guard: ['ROLE_SEE_AUDIT_LOG'],
    query: ListQuery,
    response: TabularResult,
  }),
}
