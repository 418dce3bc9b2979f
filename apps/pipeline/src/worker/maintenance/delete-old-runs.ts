import { type Kysely, sql } from 'kysely'
import type { DB } from '../../database.ts'
import { successfulStates } from '../../runs/run-states.ts'
import type { MaintenanceJob } from './maintenance.ts'
import { addAuditPartitions, addMonthPartitions, dropMonthPartitions } from '@sluice/database'

/** Runs per statement. Most of their log lines and rejected rows are already deleted. */
const runsPerBatch = 20
/** The time budget of a round in milliseconds, so that a large backlog does not overload the database. */
const roundBudgetMs = 10_000

/**
 * Deletes runs that ended more than `days` days ago, with their logs and rejected rows. Of each object, keeps the
 * newest run and the newest successful run, without logs and rejected rows, because the status of the object shows
 * them; dry runs do not count. If a restore is newer, also keeps the newest successful load: alerts measure the time
 * since this load, and schedules compare its fingerprint with the uploaded file.
 */
export function deleteOldRuns({ db, days }: { db: Kysely<DB>; days: number }): MaintenanceJob {
  return {
    name: 'runs',
    async run(signal) {
      const deadlineMs = Date.now() + roundBudgetMs
      let deletedCount = 0
      for (const deleteBatch of [deleteDetails('run_logs'), deleteDetails('rejected_rows'), deleteRuns, deleteAlerts]) {
        let batchCount: number
        do {
          signal.throwIfAborted()
          batchCount = await deleteBatch(db, days)
          deletedCount += batchCount
        } while (batchCount > 0 && Date.now() < deadlineMs)
      }
      return deletedCount
    },
  }
}

/** Deletes a batch of the oldest runs that `deleteOldRuns` does not keep. Returns their number. */
async function deleteRuns(db: Kysely<DB>, days: number): Promise<number> {
  const success = [...successfulStates]
  const hasNewerRun = sql`exists (
    select from runs newer
    where newer.runnable_id = old.runnable_id and newer.id > old.id and newer.action <> 'DRY_RUN')`
  // A restore does not replace the newest successful load. A load replaces both.
  const hasNewerSuccess = sql`exists (
    select from runs newer
    where newer.runnable_id = old.runnable_id and newer.id > old.id
      and newer.action in ('RUN', old.action) and newer.state = any(${success}::text[]))`
  const { numAffectedRows } = await sql`
    delete from runs where id in (
      select old.id from runs old
      where old.finished_at < now() - make_interval(days => ${days}::int) and (
        old.action = 'DRY_RUN'
        or (${hasNewerRun} and (old.state <> all(${success}::text[]) or ${hasNewerSuccess})))
      order by old.finished_at limit ${runsPerBatch})
  `.execute(db)
  return Number(numAffectedRows ?? 0)
}

function deleteDetails(table: 'run_logs' | 'rejected_rows') {
  return async (db: Kysely<DB>, days: number): Promise<number> => {
    const { numAffectedRows } = await sql`
      delete from ${sql.table(table)} where id in (
        select d.id from runs r join ${sql.table(table)} d on d.run_id = r.id
        where r.finished_at < now() - make_interval(days => ${days}::int)
        limit 5000)
    `.execute(db)
    return Number(numAffectedRows ?? 0)
  }
}

/** Deletes old alerts that belong to no run. Other alerts are deleted with their runs. */
async function deleteAlerts(db: Kysely<DB>, days: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from alerts where id in (
      select id from alerts where run_id is null and created_at < now() - make_interval(days => ${days}::int) limit 5000)
  `.execute(db)
  return Number(numAffectedRows ?? 0)
}

interface PartitionOptions {
  db: Kysely<DB>
  /** Days for which log lines are kept. */
  days: number
  now?: () => Date
}

const runLogsTable = { table: 'run_logs', column: 'created_at' }

/**
 * Creates the monthly partitions of the audit log and of run logs in advance, and drops expired partitions of run logs.
 */
export function maintainPartitions({ db, days, now = () => new Date() }: PartitionOptions): MaintenanceJob {
  return {
    name: 'months',
    async run() {
      const time = now()
      const partitionsAdded = (await addAuditPartitions(db, time)) + (await addMonthPartitions(db, runLogsTable, time))
      return (
        partitionsAdded + (await dropMonthPartitions(db, runLogsTable, new Date(time.getTime() - days * 86_400_000)))
      )
    },
  }
}
