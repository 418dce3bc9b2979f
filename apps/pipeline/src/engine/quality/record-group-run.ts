import type { Selectable, Transaction } from 'kysely'
import type { DB, Runs } from '../../database.ts'
import type { JobQueue } from '../queue/job-queue.ts'
import { onRunFinished } from '../run-lifecycle/finish-run.ts'
import { storable } from '../runs/run-log.ts'
import { columnsOf } from './keep-results.ts'
import type { CheckOutcome, CheckStatus } from './run-checks.ts'

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
  await onRunFinished(trx, queue, run)
  return run
}

/** What all checks of a group come to. OK only if all of them are OK. The message is for whoever sees the run. */
interface Verdict {
  status: CheckStatus
  message: string
}

/** How many checks a sentence names. */
const named = 5

export function verdictOn(outcomes: readonly CheckOutcome[]): Verdict {
  if (outcomes.length === 0) return { status: 'OK', message: 'The group has no checks: nothing was looked at.' }
  const bad = outcomes.filter(({ status }) => status !== 'OK')
  if (bad.length === 0)
    return {
      status: 'OK',
      message: outcomes.length === 1 ? 'The check is OK.' : `All ${outcomes.length} checks are OK.`,
    }
  const status = bad.some((outcome) => outcome.status === 'ERROR') ? 'ERROR' : 'FAILED'
  const said = bad.slice(0, named).map(({ check, toAll }) => `“${check.name}”: ${toAll}`)
  const more = bad.length > named ? ` And ${bad.length - named} more; the results of the run name them.` : ''
  const count = `${bad.length} of ${outcomes.length} ${outcomes.length === 1 ? 'check' : 'checks'}`
  const message = `${count} ${bad.length === 1 ? 'is' : 'are'} not OK. ${said.join(' ')}${more}`
  return { status, message: storable(message, 4_500) }
}
