import { sql } from 'kysely'
import type { Client, Role, Standing, UserStatus } from '@sluice/contracts'
import { effectiveRoles } from '../../access.ts'

export interface UserStanding {
  id: string
  username: string
  name: string
  status: UserStatus
  token_valid_after: Date
  open: boolean
  roles: Role[]
  user_groups: string[]
  client: string
  client_code: string
  client_name: string
  disabled: boolean
  domain: Client['domain']
  manager_enabled: boolean
  routes_enabled: boolean
  pipelines_enabled: boolean
  time_zone: string | null
}

/** What is asked of a user `u` of the client `own` who acts for the client `c`; `open` comes from what they come with. */
export const userColumns = sql`
  u.uid as id, u.username, u.name, u.status, u.token_valid_after, u.roles,
  array(
    select g.uid from user_group_members m join user_groups g on g.id = m.user_group_id
    where m.user_id = u.id order by g.id limit 1000
  )::text[] as user_groups,
  c.uid as client, c.code as client_code, c.name as client_name, c.disabled or own.disabled as disabled, c.domain,
  c.manager_enabled, c.routes_enabled, c.pipelines_enabled, c.time_zone`

export const standingOfUser = (kind: Standing['kind'], row: UserStanding): Standing => ({
  kind,
  id: row.id,
  username: row.username,
  name: row.name,
  status: row.status,
  tokenValidAfter: row.token_valid_after.toISOString(),
  open: row.open,
  ...effectiveRoles(row.roles, row),
  userGroups: row.user_groups,
  client: {
    id: row.client,
    code: row.client_code,
    name: row.client_name,
    disabled: row.disabled,
    domain: row.domain,
    pipelinesEnabled: row.pipelines_enabled,
    timeZone: row.time_zone ?? 'UTC',
  },
})
