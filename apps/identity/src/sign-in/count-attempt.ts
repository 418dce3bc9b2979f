import { sql, type Kysely } from 'kysely'
import type { Role, UserStatus } from '@sluice/contracts'
import { prepared } from '@sluice/database'
import type { DB } from '../database.ts'
import { countAttemptSql, countedColumns, countedRows, type AttemptCount } from './throttle.ts'

/** The account of the username when the attempt was counted. */
export interface SignInAccount {
  id: number
  uid: string
  client: string
  roles: Role[]
  status: UserStatus
  sso_auth: boolean
  password_hash: string | null
  disabled: boolean
}

type CountedAttempt = AttemptCount & (SignInAccount | Record<keyof SignInAccount, null>)

/** Counts an attempt and finds the account in one statement. */
export async function countAttempt(db: Kysely<DB>, skeleton: string, address: string): Promise<CountedAttempt> {
  const { rows } = await sql<CountedAttempt>`
    ${prepared('admit-sign-in')}
    with ${countAttemptSql(skeleton, address)}
    select ${countedColumns}, who.* from ${countedRows} left join (
      select u.id, u.uid, u.client, u.roles, u.status, u.sso_auth, u.password_hash, c.disabled
      from users u join clients c on c.uid = u.client where u.username_skeleton = ${skeleton}
    ) as who on true`.execute(db)
  return rows[0]!
}
