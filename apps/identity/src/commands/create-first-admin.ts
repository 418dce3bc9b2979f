import { randomInt } from 'node:crypto'
import { sql, type Kysely } from 'kysely'
import { recordAudit } from '@sluice/database'
import { passwordLength, allRoles } from '@sluice/contracts'
import { StartProblem } from '@sluice/process'
import type { DB } from '../database.ts'
import { hashPassword } from '../sign-in/password/password-hashing.ts'
import { type PasswordOwner, findPasswordWeakness } from '../sign-in/password/password-rules.ts'
import { toSkeleton } from '../sign-in/username.ts'

export const firstUsername = 'admin'

const firstAdmin: PasswordOwner = {
  username: firstUsername,
  name: 'Administrator',
  email: 'admin@localhost.invalid',
  clientName: 'Sluice',
  clientCode: 'SLUICE',
}

/** Any number that no other advisory lock of this service uses. */
const firstAdminLockId = 7_314_513

/**
 * Creates the first organisation and its super admin if the database has no user; otherwise changes nothing. Returns
 * whether it created them. If two calls run concurrently, only one creates them.
 */
export async function createFirstAdmin(db: Kysely<DB>, password: string): Promise<boolean> {
  const hash = await hashPassword(password)
  return db.transaction().execute(async (trx) => {
    await sql`select pg_advisory_xact_lock(${firstAdminLockId})`.execute(trx)
    if (await hasUsers(trx)) return false
    const { rows } = await sql<{ client: string; user: string }>`
      with client as (
        insert into clients (name, code, billing_code, disabled, domain, manager_enabled, routes_enabled, pipelines_enabled, enterprise_enabled)
        values (${firstAdmin.clientName}, ${firstAdmin.clientCode}, ${firstAdmin.clientCode}, false, 'PUBLIC_DATASET_CATALOG', true, true, true, true)
        on conflict (lower(code)) do update set code = excluded.code
        returning uid
      )
      insert into users (client, name, username, username_skeleton, email, password_hash, sso_auth, roles, status, start_page)
      select uid, ${firstAdmin.name}, ${firstAdmin.username}, ${toSkeleton(firstAdmin.username)}, ${firstAdmin.email}, ${hash}, false, ${[...allRoles]}, 'ACTIVE', 'DEFAULT'
      from client returning client, uid as user`.execute(trx)
    const { client, user } = rows[0]!
    await recordAudit(trx, {
      operation: 'users.createFirst',
      actor: null,
      client,
      object: user,
      requestId: 'create-first-admin',
      address: 'local',
    })
    return true
  })
}

export async function hasUsers(db: Kysely<DB>): Promise<boolean> {
  return (await sql`select from users limit 1`.execute(db)).rows.length > 0
}

/**
 * Returns the password that the operator chose for the first admin. Throws `StartProblem` if it does not meet the rules
 * for the passwords of all users.
 */
export function assertUsablePassword(password: string): string {
  const { min: minLength, max: maxLength } = passwordLength
  const length = [...password].length
  if (length < minLength || length > maxLength)
    throw new StartProblem(`SLUICE_ADMIN_PASSWORD has ${length} characters. It must have ${minLength} to ${maxLength}.`)
  const weakness = findPasswordWeakness(password, firstAdmin)
  if (weakness === 'common')
    throw new StartProblem('SLUICE_ADMIN_PASSWORD is on the list of common passwords. Choose another.')
  if (weakness === 'context')
    throw new StartProblem('SLUICE_ADMIN_PASSWORD contains "admin" or the name of Sluice. Choose another.')
  return password
}

/**
 * The characters of generated passwords: no vowels, to avoid words, and none that are easily confused when read aloud
 * or copied by hand.
 */
const passwordAlphabet = 'bcdfghjkmnpqrstvwxz23456789'

/** Returns a password of 24 characters in six groups, 114 random bits: `kx7m-…`. */
export function generatePassword(): string {
  const group = () => Array.from({ length: 4 }, () => passwordAlphabet[randomInt(passwordAlphabet.length)]).join('')
  return Array.from({ length: 6 }, group).join('-')
}
