import { sql, type Kysely } from 'kysely'
import { rolesWithin, type Credential, type Role, type Standing } from '@sluice/contracts'
import { prepared } from '@sluice/database'
import type { DB } from '../../database.ts'
import { goesOn } from '../sessions.ts'
import { isUid } from '../../uid.ts'
import { standingOfUser, userColumns, type UserStanding } from './user.ts'

/** A user and one of their sessions. They act for the session's client. */
export async function sessionStanding(
  db: Kysely<DB>,
  { id: user, session = '', application }: Credential,
): Promise<Standing | undefined> {
  if (!isUid(user) || !isUid(session)) return undefined
  if (application !== undefined) return standingInApplication(db, { user, session, application })
  const { rows } = await sql<UserStanding>`
    ${prepared('session-standing')} select ${userColumns}, coalesce(${goesOn}, false) as open
    from users u
    join clients own on own.uid = u.client
    left join sessions s on s.user_id = u.id and s.uid = ${session}
    join clients c on c.uid = coalesce(s.client, u.client)
    where u.uid = ${user}`.execute(db)
  return rows[0] && standingOfUser('session', rows[0])
}

interface ApplicationRow extends UserStanding {
  /** What the application may have now and its user said yes to. */
  scopes: Role[]
}

/**
 * The same in an application of the user's client, as long as the application exists and its user consents. It always acts
 * for the user's own client: only the session itself follows a switch of the client.
 */
async function standingInApplication(
  db: Kysely<DB>,
  { user, session, application }: { user: string; session: string; application: string },
): Promise<Standing | undefined> {
  const { rows } = await sql<ApplicationRow>`
    ${prepared('session-standing-in-application')} select ${userColumns},
      coalesce(${goesOn} and 'authorization_code' = any(a.grant_types) and k.user_id is not null, false) as open,
      array(select unnest(a.scopes) intersect select unnest(k.scopes)) as scopes
    from users u
    join clients own on own.uid = u.client
    left join sessions s on s.user_id = u.id and s.uid = ${session}
    join clients c on c.uid = u.client
    left join sso_client_configs a on a.sso_client_id = ${application} and a.client = u.client
    left join application_consents k on k.user_id = u.id and k.sso_client_config_id = a.id
    where u.uid = ${user}`.execute(db)
  const [row] = rows
  if (!row) return undefined
  const { roles, dormantRoles = [], ...standing } = standingOfUser('session', row)
  const within = (held: Role[]) => rolesWithin(held, row.scopes.join(' '))
  return { ...standing, roles: within(roles), dormantRoles: within(dormantRoles) }
}
