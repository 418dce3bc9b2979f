import { sql, type Transaction } from 'kysely'
import { holds, type UserBody } from '@sluice/contracts'
import { problems } from '@sluice/http-server'
import type { DB } from '../../database.ts'
import type { PasswordOwner } from '../../sign-in/password/password-rules.ts'
import { hashPassword } from '../../sign-in/password/password-hashing.ts'
import { checkPassword } from '../../sign-in/password/password-rules.ts'
import { resolveClient } from '../clients/client-scope.ts'
import type { IdentityRequestContext } from '../operation.ts'
import { assertGrantable } from '../assert-grantable.ts'
import { auditedOf, userColumns } from './columns.ts'
import { auditedGroups, replaceGroups, type GroupChange } from './groups.ts'
import { assertProviderTrusted, assertPasswordAllowed } from './rules.ts'
import { userRecords } from './records.ts'
import type { UserRow } from './row.ts'

/**
 * Creates a user. A user with a password is ACTIVE. A user with single sign-on is INVITATION until the first sign-in. If administrators
 * set passwords, a user with neither is accepted as INVITATION; an update or an invitation sets the password later.
 */
export async function createUser(body: UserBody, input: IdentityRequestContext): Promise<UserRow> {
  const { write, caller, config, request } = input
  assertGrantable(caller, body.auths ?? [])
  assertPasswordAllowed(body, config.ADMIN_SETS_PASSWORDS)
  if (!config.ADMIN_SETS_PASSWORDS && !body.ssoAuth)
    throw problems.refused(
      '/ssoAuth',
      'A user without single sign-on chooses their own password: invite them, with POST /users/invite.',
    )
  const hash = await hashOf(body, clientSeen(body, caller), input)

  return write(async (trx) => {
    const { user, groups } = await insertUser(trx, body, hash, input)
    request.audit(user.uid, { after: auditedOf(user), ...auditedGroups(groups) })
    return user
  })
}

/** Checks and hashes the password of a body. Returns null if it has none. */
export async function hashOf(
  body: UserBody,
  client: string,
  { db }: Pick<IdentityRequestContext, 'db'>,
): Promise<string | null> {
  const { password, name, username, email } = body
  if (password === undefined) return null
  const { rows } = await sql<Pick<PasswordOwner, 'clientName' | 'clientCode'>>`
    select name as "clientName", code as "clientCode" from clients where uid = ${client}`.execute(db)
  // The insertion rejects an unknown client.
  checkPassword(password, { name, username, email, ...(rows[0] ?? { clientName: '', clientCode: '' }) })
  return hashPassword(password)
}

/** Returns the client of a new user; the caller's own client unless the caller may see others. */
const clientSeen = ({ client }: UserBody, caller: IdentityRequestContext['caller']): string =>
  client && holds(caller.roles, 'ROLE_SUPER_ADMIN') ? client.id.toLowerCase() : caller.client

/** Inserts a user and their groups: ACTIVE with a password, otherwise INVITATION. `status` overrides that. */
export async function insertUser(
  trx: Transaction<DB>,
  body: UserBody,
  hash: string | null,
  { caller }: Pick<IdentityRequestContext, 'caller'>,
  status: UserRow['status'] = hash !== null ? 'ACTIVE' : 'INVITATION',
): Promise<{ user: UserRow; groups: GroupChange }> {
  const user = await userRecords.insert(trx, caller, {
    ...userColumns(body),
    client: await resolveClient(trx, caller, body.client?.id),
    password_hash: hash,
    status,
  })
  await assertProviderTrusted(trx, user)
  return { user, groups: await replaceGroups(trx, caller, user, body.userGroups) }
}
