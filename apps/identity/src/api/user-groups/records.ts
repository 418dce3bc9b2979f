import { sql } from 'kysely'
import { holds, type UserGroup } from '@sluice/contracts'
import { matchesLineOf, records } from '@sluice/records'
import type { Asked } from '../operation.ts'
import { presentUserGroups } from './present.ts'
import type { UserGroupRow } from './row.ts'

export const userGroupRecords = records<UserGroupRow, UserGroup, Asked>({
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
    'client.id': { column: 'r.client', type: 'uid', required: true },
    'client.code': { column: sql`select c.code from clients c where c.uid = r.client`, type: 'string' },
  },
  /** Id, code and name. */
  matches: (like) => matchesLineOf('r.search_text', like),
  /** The groups of one's own client; a super admin crosses clients. */
  scope: (caller) => (holds(caller.roles, 'ROLE_SUPER_ADMIN') ? sql`true` : sql`r.client = ${caller.client}`),
  present: presentUserGroups,
})
