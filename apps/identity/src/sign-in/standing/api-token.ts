import { sql, type Kysely } from 'kysely'
import { rolesWithin, type Credential, type Role, type Standing } from '@sluice/contracts'
import type { DB } from '../../database.ts'
import { apiTokenIsUsable, storedHash } from '../api-tokens.ts'
import { standingOfUser, userColumns, type UserStanding } from './user.ts'

interface TokenStanding extends UserStanding {
  key: number
  token_roles: Role[]
  note_use: boolean
}

/** A user's API token: for the user's own client, with those of its roles that the user still holds. */
export async function apiTokenStanding(db: Kysely<DB>, { id: hash }: Credential): Promise<Standing | undefined> {
  const { rows } = await sql<TokenStanding>`
    select ${userColumns}, ${apiTokenIsUsable} as open, t.id as key, t.roles as token_roles,
      t.last_used_at is null or t.last_used_at < now() - interval '1 minute' as note_use
    from api_tokens t
    join users u on u.id = t.user_id
    join clients own on own.uid = u.client
    join clients c on c.uid = u.client
    where t.token_hash = ${storedHash(hash)}`.execute(db)
  const row = rows[0]
  if (!row) return undefined
  if (row.open && row.note_use) await noteUse(db, row.key)
  return standingOfUser('api-token', { ...row, roles: rolesWithin(row.roles, row.token_roles.join(' ')) })
}

/** Once a minute, however often it is used and by how many processes at once. */
async function noteUse(db: Kysely<DB>, key: number): Promise<void> {
  await sql`
    update api_tokens set last_used_at = now()
    where id = ${key} and (last_used_at is null or last_used_at < now() - interval '1 minute')`.execute(db)
}
