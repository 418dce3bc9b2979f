import { createHash, randomBytes } from 'node:crypto'
import { sql, type Kysely, type Transaction } from 'kysely'
import type { Role } from '@sluice/contracts'
import { apiTokenHash, apiTokenPrefix } from '@sluice/http'
import type { DB } from '../database.ts'

/** Of one user, used up or not, until they are cleared away. */
export const mostApiTokens = 100

/** Those that are no longer listed: they expired 30 days ago. */
export const expiredApiTokens = `expires_at < now() - interval '30 days'`

export interface ApiTokenRow {
  uid: string
  name: string
  roles: Role[]
  created_at: Date
  expires_at: Date
  last_used_at: Date | null
  usable: boolean
  /** What the user holds, of whatever kind, and what their client has switched on. */
  held: Role[]
  manager_enabled: boolean
  routes_enabled: boolean
  pipelines_enabled: boolean
}

/** Which password a token was made under: with another one it is worth nothing. Null where there is no password. */
const markOf = sql`sha256(convert_to(u.password_hash, 'UTF8'))`

/** Is the token `t` of the user `u` still good, by itself? */
export const apiTokenIsUsable = sql`(t.expires_at > now() and t.password_mark is not distinct from ${markOf})`

const columns = sql`t.uid, t.name, t.roles, t.created_at, t.expires_at, t.last_used_at, ${apiTokenIsUsable} as usable,
  u.roles as held, c.manager_enabled, c.routes_enabled, c.pipelines_enabled`

/** Six characters that fit the rest by a chance of one in 2^36, so that a typo, or text that only looks like one, is told. */
const checksumOf = (text: string): string => createHash('sha256').update(text).digest('base64url').slice(0, 6)

/** A new one: prefix, 256 bits, checksum. */
function newApiToken(): string {
  const text = `${apiTokenPrefix}${randomBytes(32).toString('base64url')}`
  return `${text}${checksumOf(text)}`
}

/** Has it the form and the checksum of one of ours? For scanners; says nothing of whether it is good. */
export function isApiToken(text: string): boolean {
  const [, body = '', checksum] = /^(sluice_[\w-]{43})([\w-]{6})$/.exec(text) ?? []
  return checksum === checksumOf(body)
}

/** A credential's id, the hash in base64url, as it is stored. */
export const storedHash = (id: string): Buffer => Buffer.from(id, 'base64url')

/** What a user has, newest first. */
export async function apiTokensOf(db: Kysely<DB>, user: number): Promise<ApiTokenRow[]> {
  const { rows } = await sql<ApiTokenRow>`
    select ${columns} from api_tokens t join users u on u.id = t.user_id join clients c on c.uid = u.client
    where t.user_id = ${user} order by t.id desc limit 1000`.execute(db)
  return rows
}

/** Makes a token of a user whose row the caller holds. It is known from here on by its hash only. Undefined: they have too many. */
export async function addApiToken(
  trx: Transaction<DB>,
  user: number,
  { name, roles, expires }: { name: string; roles: readonly Role[]; expires: Date },
): Promise<{ row: ApiTokenRow; token: string } | undefined> {
  const token = newApiToken()
  const { rows } = await sql<ApiTokenRow>`
    with t as (
      insert into api_tokens (user_id, name, roles, token_hash, password_mark, expires_at)
      select u.id, ${name}, ${[...roles]}, ${storedHash(apiTokenHash(token))}, ${markOf}, ${expires} from users u
      where u.id = ${user} and (select count(*) from api_tokens where user_id = ${user}) < ${mostApiTokens}
      returning *
    )
    select ${columns} from t join users u on u.id = t.user_id join clients c on c.uid = u.client`.execute(trx)
  return rows[0] && { row: rows[0], token }
}

/** False: the user has no such token. */
export async function removeApiToken(trx: Transaction<DB>, user: number, uid: string): Promise<boolean> {
  const { rows } = await sql`
    delete from api_tokens where user_id = ${user} and uid = ${uid} returning true`.execute(trx)
  return rows.length > 0
}

/** Whoever is shut out comes back without the tokens they had. */
export async function removeApiTokensOfUser(trx: Transaction<DB>, user: number): Promise<void> {
  await sql`delete from api_tokens where user_id = ${user}`.execute(trx)
}
