import { sql } from 'kysely'
import { holds, type UserGroup } from '@sluice/contracts'
import { records } from '@sluice/records'
import type { Asked } from '../operation.ts'
import { presentUserGroups } from './present.ts'
import type { UserGroupRow } from './row.ts'

export const userGroupRecords = records<UserGroupRow, UserGroup, Asked>({
  noun: 'user group',
  table: 'user_groups',
  path: '/user-groups',
  properties: {
    id: { column: 'r.uid', type: 'uid' },
    name: { column: 'r.name', type: 'string' },
    displayName: { column: 'r.name', type: 'string' },
    code: { column: 'r.code', type: 'string' },
    description: { column: 'r.description', type: 'string' },
    created: { column: 'r.created_at', type: 'date-time' },
    lastUpdated: { column: 'r.updated_at', type: 'date-time' },
    'client.id': { column: 'r.client', type: 'uid' },
    'client.code': { column: sql`select c.code from clients c where c.uid = r.client`, type: 'string' },
  },
  matches: (like) => sql`(r.uid::text ilike ${like} or r.code ilike ${like} or r.name ilike ${like})`,
  /** The groups of one's own client; a super admin crosses clients. */
  scope: (caller) => (holds(caller.roles, 'ROLE_SUPER_ADMIN') ? sql`true` : sql`r.client = ${caller.client}`),
  present: presentUserGroups,
})
