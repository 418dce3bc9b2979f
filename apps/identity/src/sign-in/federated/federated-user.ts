import { type Kysely, type Transaction, sql } from 'kysely'
import type { Role, UserStatus } from '@sluice/contracts'
import type { DB } from '../../database.ts'
import type { FederatedPerson } from './authorization-code-exchange.ts'
import { toNetworkPrefix } from '../throttle/network-prefix.ts'
import { type ThrottleLimit, countFailureSql, assertNoWait } from '../throttle/throttle.ts'

export interface FederatedUser {
  id: number
  uid: string
  client: string
  roles: Role[]
  name: string
  username: string
  /** The name of the user's organisation. */
  organisation: string
}

/** The audit details of an invited user whom the first sign-in made active. */
interface UserActivation {
  before: { client: string; username: string; status: UserStatus }
  after: { client: string; username: string; status: UserStatus }
}

interface FederatedUserRow extends FederatedUser {
  status: UserStatus
  sso_auth: boolean
}

/**
 * Finds the user with this `ssoId` in the organisation of the config and locks the user. Returns the user, or the
 * reason for a refusal. The first sign-in makes an invited user active and stores issuer and subject. Later sign-ins
 * with another issuer or subject are refused. A sign-in is also refused if the config changed during the provider
 * request. Locks the config too: a concurrent change of the config waits for this transaction and then ends the
 * session.
 */
export async function admitFederatedUser(
  trx: Transaction<DB>,
  config: { id: number; version: number },
  { issuer, subject, ssoId }: FederatedPerson,
): Promise<{ user: FederatedUser; activation?: UserActivation } | { refusal: string; user?: FederatedUser }> {
  const { rows } = await sql<FederatedUserRow & { unchanged: boolean }>`
    select u.id, u.uid, u.client, u.name, u.username, c.name as organisation, u.roles, u.status, u.sso_auth, p.version = ${config.version} as unchanged
    from sso_provider_configs p
    join clients c on c.uid = p.client
    join users u on u.client = p.client
    where p.id = ${config.id} and u.sso_id = ${ssoId} and not c.disabled
    for update of u for share of p`.execute(trx)
  const user = rows[0]
  if (!user) return { refusal: 'no user has this ssoId' }
  if (!user.unchanged) return { refusal: 'the config changed meanwhile', user }
  if (!user.sso_auth) return { refusal: 'does not use single sign-on', user }
  if (user.status === 'INACTIVE') return { refusal: 'status INACTIVE', user }
  if (!(await linkIdentity(trx, config, user, { issuer, subject })))
    return { refusal: 'another person than before', user }
  if (user.status === 'INVITATION') return { user, activation: await activateUser(trx, user) }
  return { user }
}

/** Makes an invited user active, and returns the change for the audit log. */
async function activateUser(
  trx: Transaction<DB>,
  { id, uid, client, username, status }: FederatedUserRow,
): Promise<UserActivation> {
  await sql`
    update users set status = 'ACTIVE', version = version + 1, updated_at = now(), updated_by = ${uid}
    where id = ${id}`.execute(trx)
  return { before: { client, username, status }, after: { client, username, status: 'ACTIVE' } }
}

/**
 * Stores the identity for the user if neither has been stored before. Returns whether the user now has this identity:
 * false if it belongs to another user, or if the user has another one.
 */
async function linkIdentity(
  trx: Transaction<DB>,
  config: { id: number },
  user: { id: number },
  { issuer, subject }: Pick<FederatedPerson, 'issuer' | 'subject'>,
): Promise<boolean> {
  await sql`
    insert into sso_identities (config_id, user_id, issuer, subject)
    values (${config.id}, ${user.id}, ${issuer}, ${subject}) on conflict do nothing`.execute(trx)
  const { rows } = await sql`
    select from sso_identities
    where config_id = ${config.id} and user_id = ${user.id} and issuer = ${issuer} and subject = ${subject}`.execute(
    trx,
  )
  return rows.length === 1
}

/**
 * The limit exists because each callback causes a request to a provider. It affects networks without a successful
 * sign-in.
 */
const perNetwork: ThrottleLimit = {
  freeFailures: 100,
  firstWaitSeconds: 30,
  maxWaitSeconds: 900,
  forgetAfterSeconds: 3600,
}

/**
 * Counts a callback as a failure before the provider request. Returns the key with which `uncountAttempt` removes the
 * count after a success. Throws 429.
 */
export async function countCallback(db: Kysely<DB>, address: string): Promise<string> {
  const key = `sso:${toNetworkPrefix(address)}`
  const { rows } = await sql<{
    key: string
    seconds: number
  }>`${countFailureSql(sql`select ${key}::text`, perNetwork)}`.execute(db)
  assertNoWait(rows)
  return key
}
