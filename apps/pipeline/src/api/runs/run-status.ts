import type { RunStatus } from '@sluice/contracts'
import type { Kysely, Selectable } from 'kysely'
import type { DB, Runs } from '../../database.ts'
import { lastRuns } from '../../engine/runs/read-runs.ts'
import { duration } from './duration.ts'

export interface LastRuns {
  status: RunStatus
  last?: Selectable<Runs>
  lastSuccess?: Selectable<Runs>
}

/** How the last run of each thing went, and when it is next replaced in full. */
export async function runStatusesOf(
  db: Kysely<DB>,
  rows: readonly { id: number }[],
): Promise<(id: number) => LastRuns> {
  const ids = rows.map(({ id }) => id)
  const [runs, runnables] = await Promise.all([
    lastRuns(db, ids),
    db
      .selectFrom('runnables')
      .select(['id', 'next_full_run_at'])
      .where('id', 'in', [0, ...ids])
      .where('next_full_run_at', 'is not', null)
      .execute(),
  ])
  const nextFull = new Map(runnables.map((row) => [row.id, row.next_full_run_at!.toISOString()]))

  return (id) => {
    const { last, lastSuccess } = runs.get(id) ?? {}
    const status: RunStatus = {
      lastRunStatus: (last?.state as RunStatus['lastRunStatus'] | undefined) ?? 'NEVER_RUN',
      lastRun: (last?.started_at ?? last?.created_at)?.toISOString(),
      lastRunSuccess: lastSuccess?.finished_at?.toISOString(),
      nextFullReplaceRun: nextFull.get(id),
      lastRunDuration: last && duration(last.started_at, last.finished_at),
      jobId: last?.uid,
    }
    return { status, ...(last && { last }), ...(lastSuccess && { lastSuccess }) }
  }
}
