import { sql, type Kysely } from 'kysely'
import type { Role, Standing, UserStatus } from '@sluice/contracts'
import type { DB } from '../database.ts'
import { isUid } from '../uid.ts'

interface Row {
  id: string
  username: string
  name: string
  status: UserStatus
  token_valid_after: Date
  session_open: boolean
  roles: Role[]
  user_groups: string[]
  client: string
  client_code: string
  client_name: string
  disabled: boolean
  pipelines_enabled: boolean
}

/** What is known of a user and one of their sessions at this moment. Undefined: no such user. Uids; anything else finds nothing. */
export async function standingOf(db: Kysely<DB>, user: string, session: string): Promise<Standing | undefined> {
  if (!isUid(user) || !isUid(session)) return undefined
  const { rows } = await sql<Row>`
    select u.uid as id, u.username, u.name, u.status, u.token_valid_after, u.roles,
      coalesce(s.ended_at is null and s.expires_at > now(), false) as session_open,
      array(
        select g.uid from user_group_members m join user_groups g on g.id = m.user_group_id
        where m.user_id = u.id order by g.id limit 1000
      )::text[] as user_groups,
      c.uid as client, c.code as client_code, c.name as client_name, c.disabled or own.disabled as disabled, c.pipelines_enabled
    from users u
    join clients own on own.uid = u.client
    left join sessions s on s.user_id = u.id and s.uid = ${session}
    join clients c on c.uid = coalesce(s.client, u.client)
    where u.uid = ${user}`.execute(db)
  const row = rows[0]
  return (
    row && {
      id: row.id,
      username: row.username,
      name: row.name,
      status: row.status,
      tokenValidAfter: row.token_valid_after.toISOString(),
      sessionOpen: row.session_open,
      roles: row.roles,
      userGroups: row.user_groups,
      client: {
        id: row.client,
        code: row.client_code,
        name: row.client_name,
        disabled: row.disabled,
        pipelinesEnabled: row.pipelines_enabled,
      },
    }
  )
}
