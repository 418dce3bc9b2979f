import type { RunAction, RunMode, RunnableKind } from './runnable.ts'
import { type Kysely, type Transaction, sql } from 'kysely'
import type { DB } from '../../database.ts'
import { before } from './states.ts'

/** A run in the hands of a worker. `attempt` fences every change: one that changes no row has lost the run to another. */
export interface Claim {
  id: number
  uid: string
  client: string
  requestedAt: Date
  attempt: number
  /** Which try this is, from 1: the attempts without those that were handed back unfinished. */
  tries: number
  mode: RunMode
  action: RunAction
  /** As it was when the run was asked for. */
  input: unknown
  /** Counted by an earlier attempt, if there was one. */
  rowsRejected: number
  /** What is run. */
  subject: { id: number; uid: string; kind: RunnableKind; name: string }
}

/** How often a run is tried before it fails. An attempt beyond that only looks whether one of them published it. */
export const mostTries = 5

/**
 * Takes a run into hand: a new attempt, RUNNING. Undefined for a run that is finished, cancelled or gone. A run that
 * another worker has in hand is taken over: the queue delivers it only when that worker is silent.
 */
export async function claimRun(db: Kysely<DB>, uid: string): Promise<Claim | undefined> {
  const row = await db
    .updateTable('runs as r')
    .from('runnables as s')
    .set((eb) => ({
      state: 'RUNNING',
      attempt: eb('r.attempt', '+', 1),
      started_at: sql`now()`,
      heartbeat_at: sql`now()`,
      rows_per_second: null,
      bytes_per_second: null,
      estimated_end: null,
      message: null,
      error_code: null,
    }))
    .whereRef('s.id', '=', 'r.runnable_id')
    .where('r.uid', '=', uid)
    .where('r.state', 'in', before('RUNNING'))
    .returning(['r.id', 'r.uid', 'r.client', 'r.created_at', 'r.attempt', 'r.handed_back', 'r.mode', 'r.input'])
    .returning(['r.action', 'r.rows_rejected', 's.id as subject_id', 's.uid as subject_uid', 's.kind', 's.name'])
    .executeTakeFirst()
  if (!row) return undefined

  return {
    id: row.id,
    uid: row.uid,
    client: row.client,
    requestedAt: row.created_at,
    attempt: row.attempt,
    tries: row.attempt - row.handed_back,
    mode: row.mode as RunMode,
    action: row.action as RunAction,
    input: row.input,
    rowsRejected: row.rows_rejected,
    subject: { id: row.subject_id, uid: row.subject_uid, kind: row.kind as RunnableKind, name: row.name },
  }
}

/**
 * Whether the client of this run may have one more at work. The queue keeps to the limit only nearly: workers that wake
 * at the same moment each count before the others have taken theirs. So claims of one client go one after the other:
 * until the caller's transaction ends. Runs without a pulse for a minute do not count.
 */
export async function clientHasRoom(trx: Transaction<DB>, uid: string, most: number): Promise<boolean> {
  const run = await trx.selectFrom('runs').select(['id', 'client']).where('uid', '=', uid).executeTakeFirst()
  if (!run) return true
  await sql`select pg_advisory_xact_lock(hashtext(${`runs of ${run.client}`}))`.execute(trx)
  const { count } = await trx
    .selectFrom('runs')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('client', '=', run.client)
    .where('id', '<>', run.id)
    .where('state', '=', 'RUNNING')
    .where('heartbeat_at', '>', sql<Date>`now() - interval '1 minute'`)
    .executeTakeFirstOrThrow()
  return count < most
}

/**
 * Why a worker gives a run back. `unfinished`: it was told to stop, or what the run needs is away, which does not use up
 * one of the run's tries.
 */
export type Reason = { unfinished: true } | { code: string; message: string; unfinished?: boolean }

/** Makes a run QUEUED again. False when it is no longer this attempt's. The caller's transaction queues its job. */
export async function giveBackRun(trx: Transaction<DB>, { id, attempt }: Claim, reason: Reason): Promise<boolean> {
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
    .where('state', 'in', before('QUEUED'))
    .executeTakeFirst()
  return numUpdatedRows > 0n
}
