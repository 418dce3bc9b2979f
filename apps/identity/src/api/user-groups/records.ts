import type { UserGroup } from '@sluice/contracts'
import { matchesLineOf, records } from '@sluice/records'
import { clientProperties, ownClientScope } from '../clients/client-scope.ts'
import type { IdentityRequestContext } from '../operation.ts'
import { presentUserGroups } from './present.ts'
import type { UserGroupRow } from './row.ts'

export const userGroupRecords = records<UserGroupRow, UserGroup, IdentityRequestContext>({
  noun: 'user group',
  table: 'user_groups',
  path: '/user-groups',
  properties: {
    id: { column: 'r.uid', type: 'uid', required: true },
    name: { column: 'r.name', type: 'string', required: true, within: 'r.search_text' },
    displayName: { column: 'r.name', type: 'string', required: true, within: 'r.search_text' },
    code: { column: 'r.code', type: 'string', required: true, within: 'r.search_text' },
    description: { column: 'r.description', type: 'string' },
    created: { column: 'r.created_at', type: 'date-time', required: true },
    lastUpdated: { column: 'r.updated_at', type: 'date-time', required: true },
    ...clientProperties,
  },
  /** The search text contains id, code and name. */
  matches: (like) => matchesLineOf('r.search_text', like),
  scope: ownClientScope,
  present: presentUserGroups,
})
