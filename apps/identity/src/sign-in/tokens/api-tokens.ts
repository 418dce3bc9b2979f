import { createHash, randomBytes } from 'node:crypto'
import { sql, type Kysely, type Transaction } from 'kysely'
import type { Role } from '@sluice/contracts'
import { hashApiToken, apiTokenPrefix } from '@sluice/http-server'
import type { DB } from '../../database.ts'

/** The maximum number of tokens per user, including expired tokens. */
export const maxApiTokens = 100

/** SQL condition for tokens to delete: they expired more than 30 days ago. */
export const expiredApiTokens = `expires_at < now() - interval '30 days'`

export interface ApiTokenRow {
  uid: string
  name: string
  roles: Role[]
  created_at: Date
  expires_at: Date
  last_used_at: Date | null
  usable: boolean
  /** The roles of the user, which limit the `roles` of the token. */
  held_roles: Role[]
  /** The feature switches of the user's organisation, which can disable roles. */
  manager_enabled: boolean
  routes_enabled: boolean
  pipelines_enabled: boolean
}

/**
 * A hash that binds a token to the password at its creation, so that changing the password invalidates the token. Null
 * if the user has no password.
 */
const passwordMark = sql`sha256(convert_to(u.password_hash, 'UTF8'))`

/**
 * SQL condition: the token `t` of the user `u` is not expired, and the user's password has not changed since its
 * creation.
 */
export const apiTokenIsUsable = sql`(t.expires_at > now() and t.password_mark is not distinct from ${passwordMark})`

const tokenColumns = sql`t.uid, t.name, t.roles, t.created_at, t.expires_at, t.last_used_at, ${apiTokenIsUsable} as usable,
  u.roles as held_roles, c.manager_enabled, c.routes_enabled, c.pipelines_enabled`

/** Returns a 36-bit checksum, which detects a mistyped token without a query. */
const computeChecksum = (text: string): string => createHash('sha256').update(text).digest('base64url').slice(0, 6)

/** Returns a new API token: a prefix, 256 random bits and a checksum. */
function generateApiToken(): string {
  const text = `${apiTokenPrefix}${randomBytes(32).toString('base64url')}`
  return `${text}${computeChecksum(text)}`
}

/** Returns whether the text has the form and the checksum of an API token. Does not check whether the token exists. */
export function isApiToken(text: string): boolean {
  const [, body = '', checksum] = /^(sluice_[\w-]{43})([\w-]{6})$/.exec(text) ?? []
  return checksum === computeChecksum(body)
}

/** Converts the id of a credential, a hash in base64url, to the stored bytes. */
export const decodeTokenHash = (id: string): Buffer => Buffer.from(id, 'base64url')

/** Returns the API tokens of a user, newest first, at most 1,000. */
export async function listApiTokens(db: Kysely<DB>, user: number): Promise<ApiTokenRow[]> {
  const { rows } = await sql<ApiTokenRow>`
    select ${tokenColumns} from api_tokens t join users u on u.id = t.user_id join clients c on c.uid = u.client
    where t.user_id = ${user} order by t.id desc limit 1000`.execute(db)
  return rows
}

/**
 * Creates an API token and stores its hash. Returns undefined if the user has too many. The caller must hold the lock
 * on the user.
 */
export async function addApiToken(
  trx: Transaction<DB>,
  user: number,
  { name, roles, expires }: { name: string; roles: readonly Role[]; expires: Date },
): Promise<{ row: ApiTokenRow; token: string } | undefined> {
  const token = generateApiToken()
  const { rows } = await sql<ApiTokenRow>`
    with t as (
      insert into api_tokens (user_id, name, roles, token_hash, password_mark, expires_at)
      select u.id, ${name}, ${[...roles]}, ${decodeTokenHash(hashApiToken(token))}, ${passwordMark}, ${expires} from users u
      where u.id = ${user} and (select count(*) from api_tokens where user_id = ${user}) < ${maxApiTokens}
      returning *
    )
    select ${tokenColumns} from t join users u on u.id = t.user_id join clients c on c.uid = u.client`.execute(trx)
  return rows[0] && { row: rows[0], token }
}

/** Deletes an API token. Returns false if the user has no such token. */
export async function removeApiToken(trx: Transaction<DB>, user: number, uid: string): Promise<boolean> {
  const { rows } = await sql`
    delete from api_tokens where user_id = ${user} and uid = ${uid} returning true`.execute(trx)
  return rows.length > 0
}

export async function removeApiTokensOfUser(trx: Transaction<DB>, user: number): Promise<void> {
  await sql`delete from api_tokens where user_id = ${user}`.execute(trx)
}
