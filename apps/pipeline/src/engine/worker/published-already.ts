import type { Claim } from '../runs/claim.ts'
import { finishRun } from '../runs/finish-run.ts'
import type { RunAction, RunnableKind } from '../runs/runnable.ts'
import type { Success, WorkParts } from './work.ts'
import { works } from './works.ts'

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
