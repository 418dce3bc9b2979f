import type { RunAction, RunnableKind } from '../runs/runnable.ts'
import { pipelineWork } from './load-pipeline.ts'
import { destinationWork } from './push-destination.ts'
import { checkGroupWork } from './run-check-group.ts'
import type { Attempt, Success, Work, WorkParts } from './run-handler.ts'
import type { Claim } from '../runs/claim.ts'
import { finishRun } from '../run-lifecycle/finish-run.ts'
import { refreshView } from '../views/refresh.ts'

/** Fills a materialised view anew; of a plain one it shows that it can be read. Doing it twice does no harm. */
async function run({ db, warehouses }: WorkParts, { claim, log, signal }: Attempt): Promise<Success> {
  log.write('INFO', 'LOW', `Attempt ${claim.attempt} begins to refresh "${claim.subject.name}".`)
  const warehouse = await warehouses.open(claim.client)
  const say = (line: string) => log.write('WARN', 'MEDIUM', line)
  const { message, pending, rows, bytes } = await refreshView(db, warehouse, claim.subject.id, { signal, say })
  return { state: pending ? 'WARNING' : 'OK', message, rowsWritten: rows, bytesWritten: bytes, rowsRejected: 0 }
}

const viewWork: Work = { run }

/** What each kind does. A workflow does nothing itself: its run goes on when the runs of its jobs end. */
export const works: Partial<Record<RunnableKind, Work>> = {
  DATA_PIPELINE: pipelineWork,
  DATA_QUALITY_CHECK_GROUP: checkGroupWork,
  DESTINATION: destinationWork,
  VIEW: viewWork,
}

type Parts = Pick<WorkParts, 'db' | 'queue' | 'warehouses'>

export function publishedAlready(parts: Parts, claim: Claim): Promise<Success | undefined> {
  return works[claim.subject.kind]?.doneAlready?.(parts, claim) ?? Promise.resolve(undefined)
}

/** A run that was cancelled while its worker, dead by now or none the wiser, was committing: it is what its table says. */
export async function correctCancelled(parts: Parts, uid: string): Promise<void> {
  const run = await parts.db
    .selectFrom('runs as r')
    .innerJoin('runnables as s', 's.id', 'r.runnable_id')
    .select(['r.id', 'r.uid', 'r.client', 'r.attempt', 'r.action', 'r.rows_rejected as rowsRejected', 's.kind'])
    .where('r.uid', '=', uid)
    .where('r.state', '=', 'CANCELLED')
    .where('r.attempt', '>', 0)
    .executeTakeFirst()
  const success =
    run && (await works[run.kind as RunnableKind]?.doneAlready?.(parts, { ...run, action: run.action as RunAction }))
  if (success) await finishRun(parts, run, success)
}
