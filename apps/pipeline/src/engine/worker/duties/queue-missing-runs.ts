import { type Kysely, sql } from 'kysely'
import type { DB } from '../../../database.ts'
import type { JobQueue } from '../../queue/job-queue.ts'
import type { Duty } from '../janitor.ts'

const page = 500

/**
 * Queues the runs again that are under way but that the queue no longer knows: it gave up on them, or was restored from
 * another backup than they. A worker then takes them up, or fails them when they were tried too often.
 */
export function queueMissingRuns({ db, queue }: { db: Kysely<DB>; queue: JobQueue }): Duty {
  return {
    name: 'missing jobs',
    async run(signal) {
      let sent = 0
      for (let last = 0; ; ) {
        signal.throwIfAborted()
        const runs = await db
          .selectFrom('runs')
          .select(['id', 'uid', 'client'])
          .where('id', '>', last)
          .where(sql<boolean>`
            (state = 'QUEUED' and created_at < now() - interval '1 minute')
            or (state = 'RUNNING' and heartbeat_at < now() - interval '2 minutes')`)
          .where('state', 'in', ['QUEUED', 'RUNNING'])
          .orderBy('id')
          .limit(page)
          .execute()
        if (runs.length > 0) sent += await queue.sendMissing(db, runs)
        if (runs.length < page) return sent
        last = runs.at(-1)!.id
      }
    },
  }
}
