import { sql, type Kysely, type Transaction } from 'kysely'
import { problems, type Caller } from '@sluice/http-server'
import type { DB } from '../../database.ts'

export interface OwnUser {
  id: number
  name: string
  username: string
  email: string
  client_name: string
  client_code: string
  password_hash: string | null
  sso_auth: boolean
  two_factor_auth: boolean
}

/** Returns the caller's user. Throws 404 if the user was deleted after the request was authenticated. */
export const readOwnUser = (db: Kysely<DB>, caller: Caller): Promise<OwnUser> => ownUser(db, caller, sql``)

/** Returns the caller's user and locks the row until the transaction ends. */
export const lockOwnUser = (trx: Transaction<DB>, caller: Caller): Promise<OwnUser> =>
  ownUser(trx, caller, sql`for update of u`)

async function ownUser(db: Kysely<DB>, { uid }: Caller, locking: ReturnType<typeof sql>): Promise<OwnUser> {
  const { rows } = await sql<OwnUser>`
    select u.id, u.name, u.username, u.email, c.name as client_name, c.code as client_code, u.password_hash, u.sso_auth, u.two_factor_auth
    from users u join clients c on c.uid = u.client where u.uid = ${uid} ${locking}`.execute(db)
  if (!rows[0]) throw problems.notFound('user')
  return rows[0]
}
