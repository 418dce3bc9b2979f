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
const passwordHashMark = sql`sha256(convert_to(users.password_hash, 'UTF8'))`

/**
 * SQL condition: the row of `api_tokens` is not expired, and the password of its row of `users` has not changed since
 * the token's creation.
 */
export const apiTokenIsUsable = sql`
  (api_tokens.expires_at > now() and api_tokens.password_mark is not distinct from ${passwordHashMark})`

const tokenColumns = sql`
  api_tokens.uid, api_tokens.name, api_tokens.roles, api_tokens.created_at, api_tokens.expires_at,
  api_tokens.last_used_at, ${apiTokenIsUsable} as usable,
  users.roles as held_roles, clients.manager_enabled, clients.routes_enabled, clients.pipelines_enabled`

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
    select ${tokenColumns} from api_tokens
    join users on users.id = api_tokens.user_id join clients on clients.uid = users.client
    where api_tokens.user_id = ${user} order by api_tokens.id desc limit 1000`.execute(db)
  return rows
}

/**
 * Creates an API token and stores its hash. Changes nothing if the user already has the maximum number of tokens. The
 * caller must hold the lock on the user, so that concurrent calls cannot exceed the maximum.
 */
export async function addApiToken(
  trx: Transaction<DB>,
  user: number,
  { name, roles, expires }: { name: string; roles: readonly Role[]; expires: Date },
): Promise<{ row: ApiTokenRow; token: string } | 'too many tokens'> {
  const token = generateApiToken()
  const tokenHash = decodeTokenHash(hashApiToken(token))
  const isBelowMaximum = sql`(select count(*) from api_tokens where user_id = ${user}) < ${maxApiTokens}`
  const { rows } = await sql<ApiTokenRow>`
    with created_token as (
      insert into api_tokens (user_id, name, roles, token_hash, password_mark, expires_at)
      select users.id, ${name}, ${[...roles]}, ${tokenHash}, ${passwordHashMark}, ${expires}
      from users where users.id = ${user} and ${isBelowMaximum}
      returning *
    )
    select ${tokenColumns} from created_token as api_tokens
    join users on users.id = api_tokens.user_id join clients on clients.uid = users.client`.execute(trx)
  return rows[0] ? { row: rows[0], token } : 'too many tokens'
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
