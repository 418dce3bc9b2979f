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
      let queuedJobs = 0
      for (let lastId = 0; ; ) {
        signal.throwIfAborted()
        const runs = await db
          .selectFrom('runs as r')
          .innerJoin('runnables as s', 's.id', 'r.runnable_id')
          .select(['r.id', 'r.uid', 'r.client'])
          .where('r.id', '>', lastId)
          // Exclude workflow runs, because no worker executes them.
          .where('s.kind', '<>', 'WORKFLOW')
          .where(sql<boolean>`
            (r.state = 'QUEUED' and r.created_at < now() - interval '1 minute')
            or (r.state = 'RUNNING' and r.heartbeat_at < now() - interval '2 minutes')`)
          .where('r.state', 'in', ['QUEUED', 'RUNNING'])
          .orderBy('r.id')
          .limit(runsPerPage)
          .execute()
        if (runs.length > 0) queuedJobs += await queue.sendMissing(db, runs)
        if (runs.length < runsPerPage) return queuedJobs
        lastId = runs.at(-1)!.id
      }
    },
  }
}
