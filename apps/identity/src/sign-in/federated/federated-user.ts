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

/** A user without a refusal may sign in. A refusal without a user means that no user was found. */
interface FederatedAdmission {
  user?: FederatedUser
  refusal?: string
  /** The change of an invited user's status, for the audit log. */
  activation?: UserActivation
}

/**
 * Finds the user with this `ssoId` in the organisation of the config, and decides whether they may sign in. The first
 * sign-in makes an invited user active and stores issuer and subject. Later sign-ins with another issuer or subject are
 * refused, and so are sign-ins during which the config changed.
 *
 * Locks the user and the config. A concurrent change of the config waits for this transaction and then ends the
 * session.
 */
export async function admitFederatedUser(
  trx: Transaction<DB>,
  config: { id: number; version: number },
  { issuer, subject, ssoId }: FederatedPerson,
): Promise<FederatedAdmission> {
  const { rows } = await sql<FederatedUserRow & { config_unchanged: boolean }>`
    select users.id, users.uid, users.client, users.name, users.username, users.roles, users.status, users.sso_auth,
      clients.name as organisation, provider_configs.version = ${config.version} as config_unchanged
    from sso_provider_configs provider_configs
    join clients on clients.uid = provider_configs.client
    join users on users.client = provider_configs.client
    where provider_configs.id = ${config.id} and users.sso_id = ${ssoId} and not clients.disabled
    for update of users for share of provider_configs`.execute(trx)
  const user = rows[0]
  if (!user) return { refusal: 'no user has this ssoId' }
  if (!user.config_unchanged) return { refusal: 'the config changed meanwhile', user }
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
 * Counts a callback as a failure before the provider request. Returns the key with which `subtractFailure` removes the
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
