import { sql, type Kysely } from 'kysely'
import type { DB } from '../../database.ts'
import type { Claim } from './claim.ts'
import type { RunAction, RunMode, RunnableKind } from './runnable.ts'
import { before } from './states.ts'

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
