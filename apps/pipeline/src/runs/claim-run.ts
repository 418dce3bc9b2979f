import type { RunAction, RunMode, RunnableKind } from './runnable-kinds.ts'
import { prepared } from '@sluice/database'
import { type Kysely, type RawBuilder, type Transaction, sql } from 'kysely'
import type { DB } from '../database.ts'
import { statesThatMayBecome } from './run-states.ts'

/**
 * A run that a worker has claimed. Every write names `attempt` as its fence token; if the write changes no row, the
 * worker has lost its lease.
 */
export interface Claim {
  id: number
  uid: string
  client: string
  requestedAt: Date
  attempt: number
  /** The number of this attempt, from 1. Attempts that were requeued as `unfinished` do not count. */
  tries: number
  mode: RunMode
  action: RunAction
  /** The input at the time when the run was requested. */
  input: unknown
  /** The number of rejected rows that an earlier attempt counted. */
  rowsRejected: number
  /** The object that the run executes, such as a pipeline. */
  subject: { id: number; uid: string; kind: RunnableKind; name: string }
}

/**
 * The number of attempts after which a run fails. One more attempt only checks whether an earlier one published the
 * rows.
 */
export const maxTries = 5

interface ClaimLimits {
  /** The maximum number of concurrent runs of the client. */
  maxRuns: number
  /** SQL of whether the run must wait for other runs. */
  mustWait: RawBuilder<boolean>
}

/**
 * Names the lock that serializes the claims of one client: the limit of the queue is only approximate, because workers
 * count concurrently.
 */
export const claimLock = (client: string): string => `runs of ${client}`

/**
 * Claims a run: sets it RUNNING with a new attempt. Returns undefined if the run has ended or was deleted. Takes over a
 * run of another worker, because the queue delivers it only after that worker's heartbeats have stopped. Also returns
 * undefined if `limits` do not allow the run yet; the caller must then hold `claimLock`.
 */
export async function claimRun(db: Kysely<DB>, uid: string, limits?: ClaimLimits): Promise<Claim | undefined> {
  const isWithinLimits = limits
    ? sql<boolean>`${countConcurrentRuns} < ${limits.maxRuns} and not ${limits.mustWait}`
    : sql.lit(true)
  const row = await db
    .updateTable('runs as r')
    .from('runnables as subject')
    .set((eb) => ({
      state: 'RUNNING',
      attempt: eb('r.attempt', '+', 1),
      started_at: sql`now()`,
      heartbeat_at: sql`now()`,
      // Reset what an earlier attempt stored.
      rows_per_second: null,
      bytes_per_second: null,
      estimated_end: null,
      message: null,
      error_code: null,
    }))
    .whereRef('subject.id', '=', 'r.runnable_id')
    .where('r.uid', '=', uid)
    .where('r.state', 'in', statesThatMayBecome('RUNNING'))
    .where(isWithinLimits)
    .returning(['r.id', 'r.uid', 'r.client', 'r.created_at', 'r.attempt', 'r.handed_back', 'r.mode', 'r.input'])
    .returning(['r.action', 'r.rows_rejected'])
    .returning(['subject.id as subject_id', 'subject.uid as subject_uid', 'subject.kind', 'subject.name'])
    .modifyEnd(prepared(limits ? 'claim-run' : 'claim-run-without-limits'))
    .executeTakeFirst()
  if (!row) return undefined

  return {
    id: row.id,
    uid: row.uid,
    client: row.client,
    requestedAt: row.created_at,
    attempt: row.attempt,
    // Attempts that a worker handed back without a failure do not count.
    tries: row.attempt - row.handed_back,
    mode: row.mode as RunMode,
    action: row.action as RunAction,
    input: row.input,
    rowsRejected: row.rows_rejected,
    subject: { id: row.subject_id, uid: row.subject_uid, kind: row.kind as RunnableKind, name: row.name },
  }
}

/** Counts the other concurrent runs of the client of run `r`. Runs without a heartbeat for a minute do not count. */
const countConcurrentRuns = sql<number>`(
  select count(*) from runs o
  where o.client = r.client and o.id <> r.id and o.state = 'RUNNING' and o.heartbeat_at > now() - interval '1 minute')`

/** Returns whether a run that was not claimed waits for the end of other runs. */
export async function isRunWaiting(db: Kysely<DB>, uid: string): Promise<boolean> {
  const run = await db
    .selectFrom('runs')
    .select('id')
    .where('uid', '=', uid)
    .where('state', 'in', statesThatMayBecome('RUNNING'))
    .executeTakeFirst()
  return run !== undefined
}

/**
 * The reason why a worker requeues a run. `unfinished` means that the worker stops, or that a server that the run needs
 * is unavailable; such an attempt does not count.
 */
export type RequeueReason = { unfinished: true } | { code: string; message: string; unfinished?: boolean }

/**
 * Sets a run to QUEUED again. The caller must queue its job in the same transaction. Returns false if this attempt has
 * lost its lease. If the reason is `unfinished`, the attempt does not count as a failed one.
 */
export async function requeueRun(
  trx: Transaction<DB>,
  { id, attempt }: Claim,
  reason: RequeueReason,
): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('runs')
    .set((eb) => ({
      state: 'QUEUED',
      heartbeat_at: null,
      ...(reason.unfinished && { handed_back: eb('handed_back', '+', 1) }),
      ...('code' in reason && { message: reason.message, error_code: reason.code }),
    }))
    .where('id', '=', id)
    .where('attempt', '=', attempt)
    .where('state', 'in', statesThatMayBecome('QUEUED'))
    .executeTakeFirst()
  return numUpdatedRows > 0n
}
