import { sql, type Kysely } from 'kysely'
import type { DB } from '../../database.ts'
import type { JobQueue } from '../queue/job-queue.ts'
import { consequences } from './finish-run.ts'
import { runTransaction } from '../runs/run-transaction.ts'
import { advance } from '../workflows/advance.ts'

/** Workflows at a time. */
const most = 200

/**
 * Takes the workflows further whose delays are over. Also those whose jobs' runs ended or are gone without anybody having
 * said so, as after a restored backup. Answers how many there were; throws the first of what went
 * wrong, once all were tried. Any number of processes may do it at once.
 */
export async function advanceDue(db: Kysely<DB>, queue: JobQueue): Promise<number> {
  const { rows } = await sql<{ run_id: number }>`
    select j.run_id
    from workflow_run_jobs j join runs r on r.id = j.run_id
    where j.state = 'WAITING' and j.due_at <= now() and r.state = 'RUNNING'
    union
    select j.run_id
    from workflow_run_jobs j join runs r on r.id = j.run_id left join runs c on c.id = j.child_run_id
    where j.state = 'RUNNING' and r.state = 'RUNNING' and (c.id is null or c.state not in ('QUEUED', 'RUNNING'))
    limit ${most}`.execute(db)
  const problems: unknown[] = []
  for (const { run_id } of rows) {
    try {
      await runTransaction(db, async (trx) => {
        const ended = await advance(trx, queue, run_id)
        if (ended) await consequences(trx, queue, ended)
      })
    } catch (error) {
      // The others need not wait for it.
      problems.push(error)
    }
  }
  if (problems.length > 0) throw problems[0]
  return rows.length
}
