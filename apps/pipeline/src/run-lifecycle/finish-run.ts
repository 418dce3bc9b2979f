import { prepared } from '@sluice/database'
import { type Kysely, type Transaction, sql } from 'kysely'
import type { DB } from '../database.ts'
import type { JobQueue } from '../queue/job-queue.ts'
import type { Claim } from '../runs/claim-run.ts'
import { runTransaction } from '../runs/run-transaction.ts'
import { statesThatMayBecome, type EndedRun } from '../runs/run-states.ts'
import type { WriteMode } from '@sluice/contracts'
import type { PlannedTable, PublishedTable } from '@sluice/warehouses/load-target'
import { hasWaitingAlerts, writeRunAlerts } from '../alerts/write-alerts.ts'
import { selectSetting } from '../organisation-settings.ts'
import { toStoredJson } from '../stored-json.ts'
import { queueViews, selectPendingViews } from '../views/pending-views.ts'
import { keepPublishedProfiles } from '../table-profiles/stored-profiles.ts'
import { advanceWorkflows } from '../workflows/advance-workflow.ts'

/** The size of a table after a run; `size` is in bytes. Stored as JSON, so the names of the fields cannot change. */
export interface PublishedTableSize {
  schema: string
  name: string
  rows: number
  size: number
  /**
   * Undefined if the run did not publish the table: it had no new rows, or the run is from an earlier version of
   * Sluice.
   */
  publication?: TablePublicationRecord
}

/** The publication of one table by a run. */
export interface TablePublicationRecord
  extends Pick<PublishedTable, 'rows' | 'bytes' | 'changes' | 'rowsBefore' | 'merged'> {
  /** Absent for a restore, and if the mode is unknown. */
  mode?: WriteMode
}

export type RunOutcome =
  | {
      state: 'OK' | 'WARNING'
      message: string
      rowsWritten: number
      bytesWritten: number
      rowsRejected: number
      /** The published tables of a data pipeline; undefined for other runs. */
      tables?: PublishedTableSize[]
    }
  | { state: 'FAILED'; code: string; message: string }

/** Ends a run. Returns false, and changes nothing, if the attempt has lost its lease. */
export async function finishRun(
  { db, queue }: { db: Kysely<DB>; queue: JobQueue },
  { id, attempt }: Pick<Claim, 'id' | 'attempt'>,
  outcome: RunOutcome,
): Promise<boolean> {
  return runTransaction(db, async (trx) => {
    const run = await endRun(trx, id, attempt, outcome)
    if (run) await onRunFinished(trx, queue, run)
    return run !== undefined
  })
}

function endRun(trx: Transaction<DB>, id: number, attempt: number, outcome: RunOutcome): Promise<EndedRun | undefined> {
  return trx
    .updateTable('runs')
    .set({
      state: outcome.state,
      finished_at: sql`now()`,
      heartbeat_at: sql`now()`,
      message: outcome.message,
      error_code: outcome.state === 'FAILED' ? outcome.code : null,
      ...(outcome.state !== 'FAILED' && {
        rows_written: outcome.rowsWritten,
        bytes_written: outcome.bytesWritten,
        rows_rejected: outcome.rowsRejected,
        ...(outcome.tables && { tables: toStoredJson(outcome.tables) }),
      }),
    })
    .where('id', '=', id)
    .where('attempt', '=', attempt)
    .where('state', 'in', statesThatMayBecome(outcome.state))
    .returningAll()
    .executeTakeFirst()
}

/** Stores the result of a dry run (the planned tables), unless the attempt has lost its lease. */
export async function storePlan(
  db: Kysely<DB>,
  { id, attempt }: Pick<Claim, 'id' | 'attempt'>,
  tables: readonly PlannedTable[],
): Promise<void> {
  await sql`update runs set planned_tables = ${toStoredJson(tables)}::jsonb
    where id = ${id} and attempt = ${attempt} and state = 'RUNNING'`.execute(db)
}

/**
 * Handles the end of a run: writes alerts and advances the workflows that wait for it, then handles the end of workflow
 * runs that ended thereby. After a successful run, also keeps its table profiles and queues pending views. Runs in the
 * transaction that ends the run, so that each of these happens exactly once.
 */
export async function onRunFinished(trx: Transaction<DB>, queue: JobQueue, run: EndedRun): Promise<void> {
  const followUps = await findFollowUps(trx, run)
  await writeRunAlerts(trx, run, followUps)
  if (run.state === 'OK' || run.state === 'WARNING') {
    if (followUps.hasProfiles) await keepPublishedProfiles(trx, run.uid)
    await queueViews(trx, queue, run.client, followUps.pendingViews)
  }
  for (const workflow of await advanceWorkflows(trx, queue, followUps.workflowRuns))
    await onRunFinished(trx, queue, workflow)
}

/** The work that the end of a run requires. Most runs require none. */
interface FollowUps {
  /** The organisation's ALERT_EMAIL; null if it is not set. */
  alertSetting: string | null
  hasWaitingAlerts: boolean
  hasProfiles: boolean
  /** Pending views that name a table or view which the run created or filled. */
  pendingViews: number[]
  /** Runs of workflows that wait for this run. */
  workflowRuns: number[]
}

/**
 * Reads in one statement what follows the end of a run. The transaction has locked the run. A concurrent transaction
 * that makes a workflow wait for the run locks it too, so either this function finds the workflow, or that transaction
 * finds that the run has ended.
 */
async function findFollowUps(trx: Transaction<DB>, run: EndedRun): Promise<FollowUps> {
  const publishedTables = (run.tables as PublishedTableSize[] | null) ?? []
  // The names of the tables that the run published, or of the view that it created.
  const newRelations = sql`
    select unnest(${publishedTables.map(({ name }) => name)}::text[])
    union
    select view_name from views where id = ${run.runnable_id} and pending is null`
  const { rows } = await sql<FollowUps>`
    ${prepared('follow-ups-of-run')}
    select
      ${selectSetting(run.client, 'ALERT_EMAIL')} as "alertSetting",
      ${hasWaitingAlerts(run.runnable_id)} as "hasWaitingAlerts",
      exists (select from table_profiles where run = ${run.uid}) as "hasProfiles",
      ${selectPendingViews(run.client, newRelations)} as "pendingViews",
      (select coalesce(jsonb_agg(distinct run_id order by run_id), '[]') from workflow_run_jobs
       where child_run_id = ${run.id}) as "workflowRuns"`.execute(trx)
  return rows[0]!
}
