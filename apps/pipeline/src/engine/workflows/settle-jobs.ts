import { sql, type Transaction } from 'kysely'
import type { DB } from '../../database.ts'
import { howJobEnded } from './sentences.ts'
import { tell, type WorkflowRun } from './workflow-run.ts'

interface Settled {
  name: string
  state: keyof typeof howJobEnded
}

/**
 * Takes over how the runs ended that jobs wait for. A run that is gone failed; one that was cancelled a moment after its
 * warehouse had committed is what it turned out to be.
 */
export async function settleJobs(trx: Transaction<DB>, run: WorkflowRun): Promise<void> {
  const { rows } = await sql<Settled>`
    update workflow_run_jobs j
    set state = coalesce(c.state, 'FAILED'), finished_at = coalesce(c.finished_at, now())
    from workflow_run_jobs w left join runs c on c.id = w.child_run_id
    where w.run_id = ${run.id} and (j.run_id, j.step, j.job) = (w.run_id, w.step, w.job) and case w.state
      when 'RUNNING' then coalesce(c.state not in ('QUEUED', 'RUNNING'), true)
      when 'CANCELLED' then coalesce(c.state in ('OK', 'WARNING'), false)
      else false end
    returning j.name, j.state`.execute(trx)
  for (const { name, state } of rows) {
    const level = state === 'OK' ? 'INFO' : state === 'WARNING' ? 'WARN' : 'ERROR'
    await tell(trx, run, level, 'MEDIUM', `"${name}" ${howJobEnded[state]}`)
  }
}
