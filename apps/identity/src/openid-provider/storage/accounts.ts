import { sql, type Kysely } from 'kysely'
import type { Account, FindAccount } from 'oidc-provider'
import { prepared } from '@sluice/database'
import type { DB } from '../../database.ts'
import { isUid } from '../../is-uid.ts'
import { isBuiltIn } from './built-in-applications.ts'
import type { ExtraMetadata } from './clients.ts'

interface AccountRow {
  uid: string
  name: string
  username: string
  email: string
  updated_at: Date
  id: number
  client: string
  client_code: string
  client_name: string
}

/** The user claims that each scope grants to an application. */
export const claimsByScope = {
  openid: ['sub', 'auth_time', 'amr'],
  profile: ['name', 'preferred_username', 'updated_at'],
  email: ['email', 'email_verified'],
  groups: ['groups'],
  organization: ['organization'],
}

/**
 * Returns the function with which oidc-provider finds a user by uid. It returns undefined if the user is not active, if
 * the user's organisation is disabled, or if the application belongs to another organisation. Built-in applications
 * belong to none.
 */
export const findAccount = (db: Kysely<DB>): FindAccount =>
  async function find(ctx, sub): Promise<Account | undefined> {
    if (!isUid(sub)) return undefined
    const { rows } = await sql<AccountRow>`
      ${prepared('find-account')}
      select users.id, users.uid, users.name, users.username, users.email, users.updated_at, users.client,
        clients.code as client_code, clients.name as client_name
      from users join clients on clients.uid = users.client
      where users.uid = ${sub} and users.status = 'ACTIVE' and not clients.disabled`.execute(db)
    const user = rows[0]
    if (!user) return undefined
    const { client: application } = ctx.oidc
    const organisation = (application as unknown as ExtraMetadata | undefined)?.tenant
    const admitsAllUsers = organisation === undefined || isBuiltIn(application?.clientId)
    if (!admitsAllUsers && user.client !== organisation) return undefined
    return {
      accountId: user.uid,
      client: user.client,
      claims: async (_use, scope) => ({
        ...toClaims(user),
        ...(scope.split(' ').includes('groups') && { groups: await listGroupCodes(db, user) }),
      }),
    }
  }

/** Returns the codes of the user's groups, sorted, at most 1,000. */
async function listGroupCodes(db: Kysely<DB>, { id }: AccountRow): Promise<string[]> {
  const { rows } = await sql<{ code: string }>`
    ${prepared('account-groups')}
    select user_groups.code from user_group_members members join user_groups on user_groups.id = members.user_group_id
    where members.user_id = ${id} order by user_groups.code limit 1000`.execute(db)
  return rows.map(({ code }) => code)
}

/** Returns the claims about a user in ID tokens and userinfo responses, except the groups. */
const toClaims = ({ uid, name, username, email, updated_at, client, client_code, client_name }: AccountRow) => ({
  sub: uid,
  name,
  preferred_username: username,
  updated_at: Math.floor(updated_at.getTime() / 1000),
  email,
  // Sluice sends mails but does not verify that the user owns the address.
  email_verified: false,
  organization: { id: client, code: client_code, name: client_name },
})
