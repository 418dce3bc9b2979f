import type { Selectable, Transaction } from 'kysely'
import type { DB, Runs } from '../database.ts'
import type { JobQueue } from '../queue/job-queue.ts'
import { onRunFinished } from '../run-lifecycle/finish-run.ts'
import { toStorableText } from '../runs/run-log.ts'
import { toColumns } from './check-result-repository.ts'
import type { CheckOutcome, CheckStatus } from './run-checks.ts'

/** A synchronous run: its check group, the user who started it, and its start time. */
interface GroupRunSubject {
  id: number
  client: string
  createdBy: string
  startedAt: Date
}

/** The error code of a run with failed checks. */
export const qualityFailedCode = 'DATA_QUALITY_FAILED'

/**
 * Stores a synchronous run of a check group with its results after it has ended. If the service is killed during the
 * run, nothing is stored.
 */
export async function recordGroupRun(
  trx: Transaction<DB>,
  queue: JobQueue,
  { id, client, createdBy, startedAt }: GroupRunSubject,
  { status, message }: CheckVerdict,
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
      message: toStorableText(message, 5_000),
      error_code: status === 'OK' ? null : qualityFailedCode,
      created_at: startedAt,
      started_at: startedAt,
      heartbeat_at: now,
      finished_at: now,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
  const results = outcomes.map((outcome, index) => ({ run_id: run.id, position: index + 1, ...toColumns(outcome) }))
  if (results.length > 0) await trx.insertInto('data_quality_results').values(results).execute()
  await onRunFinished(trx, queue, run)
  return run
}

/**
 * The result of a check group. Its status is OK only if all checks are OK. Everyone who can see the run can see the
 * message, so it contains no values of rows.
 */
interface CheckVerdict {
  status: CheckStatus
  message: string
}

/** The maximum number of checks that a message names. */
const maxNamedChecks = 5

/** Returns the status of a group, and a message that names the checks that are not OK. */
export function summarizeOutcomes(outcomes: readonly CheckOutcome[]): CheckVerdict {
  if (outcomes.length === 0) return { status: 'OK', message: 'The group has no checks. Add checks to it.' }
  const unsuccessful = outcomes.filter(({ status }) => status !== 'OK')
  if (unsuccessful.length === 0)
    return {
      status: 'OK',
      message: outcomes.length === 1 ? 'The check is OK.' : `All ${outcomes.length} checks are OK.`,
    }
  const status = unsuccessful.some((outcome) => outcome.status === 'ERROR') ? 'ERROR' : 'FAILED'
  const reasons = unsuccessful
    .slice(0, maxNamedChecks)
    .map(({ check, publicMessage }) => `“${check.name}”: ${publicMessage}`)
  const unnamedCount = unsuccessful.length - maxNamedChecks
  const moreText = unnamedCount > 0 ? ` And ${unnamedCount} more: see the results.` : ''
  const count = `${unsuccessful.length} of ${outcomes.length} ${outcomes.length === 1 ? 'check' : 'checks'}`
  const message = `${count} ${unsuccessful.length === 1 ? 'is' : 'are'} not OK. ${reasons.join(' ')}${moreText}`
  return { status, message: toStorableText(message, 4_500) }
}
