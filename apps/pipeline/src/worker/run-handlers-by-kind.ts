import type { RunAction, RunnableKind } from '../runs/runnable-kinds.ts'
import { pipelineHandler } from './load-pipeline.ts'
import { destinationHandler } from './push-destination.ts'
import { checkGroupHandler } from './run-check-group.ts'
import type { RunAttempt, RunSuccess, RunHandler, RunContext } from './run-handler.ts'
import type { Claim } from '../runs/claim-run.ts'
import { finishRun } from '../run-lifecycle/finish-run.ts'
import { refreshView } from '../views/refresh-view.ts'

/** Refreshes a materialised view, or checks a plain view by reading it. Safe to repeat. */
async function executeViewRefresh(
  { db, warehouses }: RunContext,
  { claim, log, signal }: RunAttempt,
): Promise<RunSuccess> {
  log.write('INFO', 'LOW', `Attempt ${claim.attempt} begins to refresh "${claim.subject.name}".`)
  const warehouse = await warehouses.open(claim.client)
  const writeLine = (line: string) => log.write('WARN', 'MEDIUM', line)
  const { message, pending, rows, bytes } = await refreshView(db, warehouse, claim.subject.id, { signal, writeLine })
  return { state: pending ? 'WARNING' : 'OK', message, rowsWritten: rows, bytesWritten: bytes, rowsRejected: 0 }
}

const viewHandler: RunHandler = { run: executeViewRefresh }

/**
 * The handler for the runs of each kind of object. Workflows have none, because their runs continue when the runs of
 * their jobs end.
 */
export const runHandlers: Partial<Record<RunnableKind, RunHandler>> = {
  DATA_PIPELINE: pipelineHandler,
  DATA_QUALITY_CHECK_GROUP: checkGroupHandler,
  DESTINATION: destinationHandler,
  VIEW: viewHandler,
}

type RecoveryContext = Pick<RunContext, 'db' | 'queue' | 'warehouses'>

/** Returns the success of a run that an attempt has published but not recorded. Otherwise returns undefined. */
export function recoverPublishedRun(context: RecoveryContext, claim: Claim): Promise<RunSuccess | undefined> {
  return runHandlers[claim.subject.kind]?.recover?.(context, claim) ?? Promise.resolve(undefined)
}

/**
 * Corrects the state of a run that was cancelled while a worker was publishing its rows. If the ledger in the warehouse
 * has the run, its rows were published, so the run becomes successful. Otherwise, the run stays cancelled.
 */
export async function recoverCancelledRun(context: RecoveryContext, uid: string): Promise<void> {
  const run = await context.db
    .selectFrom('runs as r')
    .innerJoin('runnables as s', 's.id', 'r.runnable_id')
    .select(['r.id', 'r.uid', 'r.client', 'r.attempt', 'r.action', 'r.rows_rejected as rowsRejected', 's.kind'])
    .where('r.uid', '=', uid)
    .where('r.state', '=', 'CANCELLED')
    .where('r.attempt', '>', 0)
    .executeTakeFirst()
  if (!run) return
  const handler = runHandlers[run.kind as RunnableKind]
  const success = await handler?.recover?.(context, { ...run, action: run.action as RunAction })
  if (success) await finishRun(context, run, success)
}
