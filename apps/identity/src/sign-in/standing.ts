import { sql, type Kysely } from 'kysely'
import type { Credential, Role, Standing, UserStatus } from '@sluice/contracts'
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

type Found = (db: Kysely<DB>, credential: Credential) => Promise<Standing | undefined>

/** How each kind of credential is looked up. */
const byKind: Record<Credential['kind'], Found> = {
  session: sessionStanding,
  application: async () => undefined,
  'api-token': async () => undefined,
}

/** Who comes with a credential, and what is known of them at this moment. Undefined: there is none such. */
export const standingOf: Found = (db, credential) => byKind[credential.kind](db, credential)

/** A user and one of their sessions. */
async function sessionStanding(db: Kysely<DB>, { id: user, session = '' }: Credential): Promise<Standing | undefined> {
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
      kind: 'session',
      id: row.id,
      username: row.username,
      name: row.name,
      status: row.status,
      tokenValidAfter: row.token_valid_after.toISOString(),
      open: row.session_open,
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
