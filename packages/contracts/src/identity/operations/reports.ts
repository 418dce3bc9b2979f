import { signature } from '../../operation.ts'
import { ListQuery } from '../../search.ts'
import { TabularResult } from '../table.ts'
import { UserListQuery } from '../user.ts'

/** The query sets filter, order and pages, as in lists; the totals are in `metaData.pager`. */
export const reports = {
  userAccess: signature({
    id: 'reports.userAccess',
    summary: 'Users and what they can reach',
    method: 'get',
    path: '/reports/user-access',
    guard: ['ROLE_MANAGE_USER'],
    query: UserListQuery,
    response: TabularResult,
  }),
  audit: signature({
    id: 'reports.audit',
    summary: 'Who did what, when, from where',
    description:
      'Newest first. What was done for a client, and to it from outside; super admins see all clients. A filter on "at" keeps a search of a long log short.',
    method: 'get',
    path: '/reports/audit',
    guard: ['ROLE_SEE_AUDIT_LOG'],
    query: ListQuery,
    response: TabularResult,
  }),
}
