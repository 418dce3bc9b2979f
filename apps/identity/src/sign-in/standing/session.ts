import { sql, type Kysely } from 'kysely'
import type { Credential, Standing } from '@sluice/contracts'
import { prepared } from '@sluice/database'
import type { DB } from '../../database.ts'
import { goesOn } from '../sessions.ts'
import { isUid } from '../../uid.ts'
import { standingOfUser, userColumns, type UserStanding } from './user.ts'

/** A user and one of their sessions. They act for the session's client. */
export async function sessionStanding(
  db: Kysely<DB>,
  { id: user, session = '' }: Credential,
): Promise<Standing | undefined> {
  if (!isUid(user) || !isUid(session)) return undefined
  const { rows } = await sql<UserStanding>`
    ${prepared('session-standing')} select ${userColumns}, coalesce(${goesOn}, false) as open
    from users u
    join clients own on own.uid = u.client
    left join sessions s on s.user_id = u.id and s.uid = ${session}
    join clients c on c.uid = coalesce(s.client, u.client)
    where u.uid = ${user}`.execute(db)
  return rows[0] && standingOfUser('session', rows[0])
}
