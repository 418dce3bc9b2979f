import { type Kysely, sql } from 'kysely'
import { addAuditPartitions, transaction } from '@sluice/database'
import type { DB } from '../database.ts'
import { failOverdueMails } from '../email/outbox.ts'
import { removeExpiredModels } from '../openid-provider/storage/oidc-adapter.ts'
import { expiredApiTokens } from '../sign-in/tokens/api-tokens.ts'
import { removeOldPasswordResets } from '../sign-in/password/password-reset-requests.ts'
import { type KeyRotation, rotateDueKeys } from '../sign-in/tokens/key-rotation.ts'
import { endIdleSessions } from '../sign-in/sessions/sessions.ts'
import { repeatInBatches, removeInBatches } from '../process-rows-in-batches.ts'

/**
 * Days for which ended and expired sessions are kept, for the list of sessions and for the detection of reused tokens.
 */
const sessionRetentionDays = 30
/**
 * Sessions per batch. Fewer than in other jobs, because deleting a session also deletes its refresh tokens and OpenID
 * Provider rows.
 */
const sessionBatchSize = 200

const removeOldSessions = (db: Kysely<DB>, signal?: AbortSignal): Promise<number> =>
  repeatInBatches((limit) => transaction(db, (trx) => removeSessionBatch(trx, limit)), {
    signal,
    size: sessionBatchSize,
  })

/**
 * Deletes a batch of old sessions and returns their number. First stores two facts in the users that only sessions
 * contain: the time of the last sign-in, and that the user has seen the introduction (`service_intro` is false). Locks
 * users before sessions, in the same order as all transactions, which prevents deadlocks.
 */
async function removeSessionBatch(trx: Kysely<DB>, limit: number): Promise<number> {
  const { rows } = await sql<{ id: number; user_id: number }>`
    select id, user_id from sessions where coalesce(ended_at, expires_at) < now() - make_interval(days => ${sessionRetentionDays})
    order by coalesce(ended_at, expires_at) limit ${limit}`.execute(trx)
  if (rows.length === 0) return 0
  const ids = rows.map(({ id }) => id)
  const users = rows.map(({ user_id }) => user_id)
  await sql`select from users where id = any(${users}) order by id for no key update`.execute(trx)
  const isUserOutdated = sql`(
    users.service_intro or users.last_signed_in_at is null or users.last_signed_in_at < last_sessions.created_at)`
  await sql`
    with last_sessions as (
      select user_id, max(created_at) as created_at from sessions where id = any(${ids}) group by user_id)
    update users set service_intro = false,
      last_signed_in_at = greatest(users.last_signed_in_at, last_sessions.created_at)
    from last_sessions where last_sessions.user_id = users.id and ${isUserOutdated}`.execute(trx)
  await sql`delete from sessions where id = any(${ids})`.execute(trx)
  return rows.length
}

/** A maintenance job. It can be repeated, interrupted between batches, and run by two processes concurrently. */
export interface MaintenanceJob {
  name: string
  run(db: Kysely<DB>, signal?: AbortSignal): Promise<unknown>
}

/**
 * Creates the monthly partitions of the audit log. Runs first, because other jobs write audit rows, which need a
 * partition.
 */
const auditMonthsJob: MaintenanceJob = { name: 'audit-months', run: (db) => addAuditPartitions(db, new Date()) }
const createKeyRotationJob = (keys: KeyRotation): MaintenanceJob => ({
  name: 'signing-keys',
  run: (db) => rotateDueKeys(db, keys),
})

const createRemovalJob = (name: string, table: keyof DB, condition: string): MaintenanceJob => ({
  name,
  run: (db, signal) => removeInBatches(db, table, sql.raw(condition), signal),
})

/** The jobs run in this order: rows that depend on sessions first, so that deleting a session then deletes few rows. */
const removalJobs: readonly MaintenanceJob[] = [
  createRemovalJob('sign-in-attempts', 'sign_in_attempts', `last_at < now() - interval '1 day'`),
  { name: 'idle-sessions', run: endIdleSessions },
  // After a day the used token is deleted. Using it again is still refused, because the token is then unknown.
  createRemovalJob('refresh-tokens', 'refresh_tokens', `consumed_at < now() - interval '1 day'`),
  { name: 'oidc-models', run: removeExpiredModels },
  { name: 'sessions', run: removeOldSessions },
  createRemovalJob('links', 'links', 'expires_at < now()'),
  { name: 'forgotten-passwords', run: (db) => removeOldPasswordResets(db) },
  createRemovalJob('mails', 'mails', `created_at < now() - interval '30 days'`),
  { name: 'overdue-mails', run: (db, signal) => repeatInBatches((size) => failOverdueMails(db, size), { signal }) },
  createRemovalJob('tickets', 'second_factor_tickets', 'expires_at < now()'),
  createRemovalJob('api-tokens', 'api_tokens', expiredApiTokens),
  createRemovalJob('sso-states', 'sso_used_states', `expires_at < now() - interval '1 hour'`),
  createRemovalJob('sso-tickets', 'sso_tickets', 'expires_at < now()'),
]

/** Returns all jobs in order; without `keys`, only those that need no encryption keys. */
export const listJobs = (keys?: KeyRotation): readonly MaintenanceJob[] => [
  auditMonthsJob,
  ...(keys ? [createKeyRotationJob(keys)] : []),
  ...removalJobs,
]
