import type { Selectable, Transaction } from 'kysely'
import type { DB, Runs } from '../../database.ts'
import type { JobQueue } from '../queue/job-queue.ts'
import { consequences } from '../runs/consequences.ts'
import { storable } from '../runs/storable.ts'
import { columnsOf } from './keep-results.ts'
import type { CheckOutcome } from './run-checks.ts'
import type { Verdict } from './verdict.ts'

/** Whose run it was, and since when. */
interface Subject {
  id: number
  client: string
  createdBy: string
  startedAt: Date
}

/** How a group's run that did not come out OK is called. */
export const qualityFailed = 'DATA_QUALITY_FAILED'

/**
 * Writes down a run that somebody waited for, with what its checks found. It is written when it is over: one whose
 * service was killed meanwhile changed nothing, and leaves nothing behind.
 */
export async function recordGroupRun(
  trx: Transaction<DB>,
  queue: JobQueue,
  { id, client, createdBy, startedAt }: Subject,
  { status, message }: Verdict,
  outcomes: readonly CheckOutcome[],
): Promise<Selectable<Runs>> {
  const now = new Date()
  const run = await trx
    .insertInto('runs')
    .values({
      runnable_id: id,
      client,
      trigger: 'MANUAL',
      created_by: createdBy,
      input: '{}',
      attempt: 1,
      state: status === 'OK' ? 'OK' : 'FAILED',
      message: storable(message, 5_000),
      error_code: status === 'OK' ? null : qualityFailed,
      created_at: startedAt,
      started_at: startedAt,
      heartbeat_at: now,
      finished_at: now,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
  const results = outcomes.map((outcome, index) => ({ run_id: run.id, position: index + 1, ...columnsOf(outcome) }))
  if (results.length > 0) await trx.insertInto('data_quality_results').values(results).execute()
  await consequences(trx, queue, run)
  return run
}
