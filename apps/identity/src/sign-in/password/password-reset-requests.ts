import { createHash } from 'node:crypto'
import { sql, type Kysely, type Transaction } from 'kysely'
import type { UserStatus } from '@sluice/contracts'
import { recordAudit } from '@sluice/database'
import type { DB } from '../../database.ts'
import { isResetLimitReached } from '../../email/email-rate-limits.ts'
import { mailPasswordReset } from '../../email/queue-account-emails.ts'
import type { MailConfig } from '../../email/outbox.ts'
import { toNetworkPrefix } from '../throttle/network-prefix.ts'
import { addLink } from '../tokens/one-time-links.ts'
import { countFailureSql, assertNoWait, type ThrottleLimit } from '../throttle/throttle.ts'
import { toSkeleton } from '../username.ts'

const perAccount: ThrottleLimit = {
  freeFailures: 3,
  firstWaitSeconds: 60,
  maxWaitSeconds: 900,
  forgetAfterSeconds: 3600,
}
const perNetwork: ThrottleLimit = {
  freeFailures: 30,
  firstWaitSeconds: 60,
  maxWaitSeconds: 900,
  forgetAfterSeconds: 3600,
}

/** The maximum number of users per organisation, and in total, for which one password-reset request creates mails. */
const maxUsersPerClient = 10
const maxUsersPerRequest = 50

/**
 * Counts a password-reset request for the typed username and for the network before any lookup. Sign-ins are counted
 * separately, so password-reset requests cannot block a user's sign-in. Throws 429.
 */
export async function admitPasswordReset(db: Kysely<DB>, typed: string, address: string): Promise<void> {
  const usernameHash = createHash('sha256').update(toSkeleton(typed)).digest('base64url')
  const networkKey = sql`select ${`forgotten-network:${toNetworkPrefix(address)}`}::text`
  // The request counts for the account only if the network does not have to wait.
  const accountKey = sql`select ${`forgotten:${usernameHash}`}::text from network where seconds <= 0`
  const { rows } = await sql<{ key: string; seconds: number }>`
    with network as (${countFailureSql(networkKey, perNetwork)}),
      account as (${countFailureSql(accountKey, perAccount)})
    select key, seconds from network union all select key, seconds from account`.execute(db)
  assertNoWait(rows)
}

/** Queues a password-reset request, also for an unknown username. */
export async function queuePasswordReset(
  trx: Kysely<DB>,
  typed: string,
  { id, address }: { id: string; address: string },
): Promise<void> {
  await sql`
    insert into forgotten_passwords (typed, request_id, address) values (${typed}, ${id}, ${address})`.execute(trx)
}

interface PasswordResetRequest {
  typed: string
  request_id: string
  address: string
}

interface PasswordResetAccount {
  id: number
  uid: string
  client: string
  email: string
  status: UserStatus
  sso_auth: boolean
  disabled: boolean
  address_is_new: boolean
}

/**
 * Handles the oldest pending password-reset request of the last hour: mails a link to every matching user who may get
 * one. Returns false if no such request is pending.
 */
export async function answerPasswordReset(db: Kysely<DB>, config: MailConfig): Promise<boolean> {
  return db.transaction().execute(async (trx) => {
    const { rows } = await sql<PasswordResetRequest>`
      delete from forgotten_passwords where id = (
        select id from forgotten_passwords where created_at > now() - interval '1 hour'
        order by id limit 1 for update skip locked
      ) returning typed, request_id, address`.execute(trx)
    const request = rows[0]
    if (!request) return false
    const accounts = await lockMatchingAccounts(trx, request.typed)
    for (const account of accounts) await mailResetLinkIfAllowed(trx, config, request, account)
    return true
  })
}

/**
 * Finds and locks the users with this username or e-mail address: at most `maxUsersPerClient` of an organisation, and
 * at most `maxUsersPerRequest` in total. Prefers the user with this username, then the first user of each organisation,
 * then the second ones, and so on. So users of one organisation cannot use up the limit for the others. Within an
 * organisation, users who may get a link come first.
 */
async function lockMatchingAccounts(trx: Transaction<DB>, typed: string): Promise<PasswordResetAccount[]> {
  const isEmailAddress = typed.includes('@')
  const hasUsername = sql<boolean>`users.username_skeleton = ${toSkeleton(typed)}`
  const mayGetLink = sql<boolean>`(users.status = 'ACTIVE' and not users.sso_auth)`
  const { rows } = await sql<PasswordResetAccount>`
    with matches as (
      select users.id, ${hasUsername} as has_username, row_number() over (
        partition by users.client order by ${hasUsername} desc, ${mayGetLink} desc, users.id) as rank_in_client
      from users where ${hasUsername} or (${isEmailAddress} and lower(users.email) = lower(${typed.trim()}))
    )
    select users.id, users.uid, users.client, users.email, users.status, users.sso_auth, clients.disabled,
      coalesce(users.own_email_since > now() - interval '1 day', false) as address_is_new
    from users join clients on clients.uid = users.client
    where users.id in (
      select id from matches where rank_in_client <= ${maxUsersPerClient}
      order by has_username desc, rank_in_client, id limit ${maxUsersPerRequest})
    order by users.id for no key update of users`.execute(trx)
  return rows
}

/** Mails a link to one user, unless a rule forbids it, and audits the outcome. */
async function mailResetLinkIfAllowed(
  trx: Transaction<DB>,
  config: MailConfig,
  { request_id: requestId, address }: PasswordResetRequest,
  account: PasswordResetAccount,
): Promise<void> {
  const refusal = await findRefusalReason(trx, account)
  if (refusal === undefined)
    await mailPasswordReset(trx, config, account, await addLink(trx, account, 'PASSWORD_RESET', config))
  const { uid: object, client } = account
  const details = { outcome: refusal ?? 'mailed' }
  await recordAudit(trx, { operation: 'auth.forgotPassword', actor: null, client, object, requestId, address, details })
}

/** Returns the reason why a user may not get a link, for the audit log; undefined if they may. */
async function findRefusalReason(trx: Transaction<DB>, account: PasswordResetAccount): Promise<string | undefined> {
  const { status, sso_auth, disabled, address_is_new } = account
  if (sso_auth) return 'signs in elsewhere'
  if (status !== 'ACTIVE') return `status ${status}`
  if (disabled) return 'client disabled'
  // The user set this address only recently. An attacker with access to an open session could have done that.
  if (address_is_new) return 'address is new'
  return (await isResetLimitReached(trx, account)) ? 'mailed too often' : undefined
}

/** Deletes password-reset requests that are more than an hour old. */
export async function removeOldPasswordResets(trx: Kysely<DB>): Promise<void> {
  await sql`delete from forgotten_passwords where created_at < now() - interval '1 hour'`.execute(trx)
}
