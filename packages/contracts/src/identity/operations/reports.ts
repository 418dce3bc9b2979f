import { signature } from '../../operation.ts'
import { ListQuery } from '../../search.ts'
import { TabularResult } from '../table.ts'
import { UserListQuery } from '../user.ts'

/** The query sets filter, order and pages, as in lists; the totals are in `metaData.pager`. */
export const reports = {
  userAccess: signature({
    id: 'reports.userAccess',
    summary: 'Users and their access',
    method: 'get',
    path: '/reports/user-access',
    guard: ['ROLE_MANAGE_USER'],
    query: UserListQuery,
    response: TabularResult,
  }),
  audit: signature({
    id: 'reports.audit',
    summary: 'Audit log',
    description:
      'Newest first. Contains the operations of a client and the operations of others on it; super admins see all clients. A filter on "at" makes the search of a long log fast.',
    method: 'get',
    path: '/reports/audit',
    guard: ['ROLE_SEE_AUDIT_LOG'],
    query: ListQuery,
    response: TabularResult,
  }),
}
