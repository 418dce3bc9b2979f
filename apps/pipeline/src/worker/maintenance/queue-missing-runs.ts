import { type Kysely, sql } from 'kysely'
import type { DB } from '../../database.ts'
import type { JobQueue } from '../../queue/job-queue.ts'
import type { MaintenanceJob } from './maintenance.ts'

const runsPerPage = 500

/**
 * Adds jobs to the queue for queued and running runs that have none, because the queue stopped retrying or was restored
 * from an older backup. A worker then claims these runs, or fails them after too many attempts.
 */
export function queueMissingRuns({ db, queue }: { db: Kysely<DB>; queue: JobQueue }): MaintenanceJob {
  return {
    name: 'missing jobs',
    async run(signal) {
      let addedJobs = 0
      for (let lastId = 0; ; ) {
        signal.throwIfAborted()
        const runs = await listRunsWithoutProgress(db, lastId)
        // The queue ignores runs that already have a job.
        if (runs.length > 0) addedJobs += await queue.sendMissing(db, runs)
        if (runs.length < runsPerPage) return addedJobs
        lastId = runs.at(-1)!.id
      }
    },
  }
}

/** Returns the next runs after `afterId`, by id, that have waited for a worker for a minute or have no heartbeats. */
function listRunsWithoutProgress(db: Kysely<DB>, afterId: number) {
  return (
    db
      .selectFrom('runs as run')
      .innerJoin('runnables as object', 'object.id', 'run.runnable_id')
      .select(['run.id', 'run.uid', 'run.client'])
      .where('run.id', '>', afterId)
      // Exclude workflow runs, because no worker executes them.
      .where('object.kind', '<>', 'WORKFLOW')
      .where(sql<boolean>`
        (run.state = 'QUEUED' and run.created_at < now() - interval '1 minute')
        or (run.state = 'RUNNING' and run.heartbeat_at < now() - interval '2 minutes')`)
      // The index of unfinished runs has this condition.
      .where('run.state', 'in', ['QUEUED', 'RUNNING'])
      .orderBy('run.id')
      .limit(runsPerPage)
      .execute()
  )
}
