import { type Kysely, type Transaction, sql } from 'kysely'
import type { DB } from '../database.ts'
import type { JobQueue } from '../queue/job-queue.ts'
import type { Claim } from '../runs/claim-run.ts'
import { runTransaction } from '../runs/run-transaction.ts'
import { statesBefore, type EndedRun } from '../runs/run-states.ts'
import type { WriteMode } from '@sluice/contracts'
import type { PlannedTable, PublishedTable } from '@sluice/warehouses/load-target'
import { writeRunAlerts } from '../alerts/write-alerts.ts'
import { toStoredJson } from '../stored-json.ts'
import { queuePendingViews, listTablesOfRun } from '../views/pending-views.ts'
import { keepPublishedProfiles } from '../table-profiles/stored-profiles.ts'
import { advanceWaitingWorkflows } from '../workflows/advance-workflow.ts'

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

/** How a run published one table. */
export interface TablePublicationRecord extends Pick<PublishedTable, 'rows' | 'bytes' | 'changes'> {
  /** Undefined for a restore, and if the mode is unknown. */
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
    .where('state', 'in', statesBefore(outcome.state))
    .returningAll()
    .executeTakeFirst()
}

/** Stores the result of a dry run (the planned tables), unless the attempt has lost its lease. */
export async function keepPlan(
  db: Kysely<DB>,
  { id, attempt }: Pick<Claim, 'id' | 'attempt'>,
  tables: readonly PlannedTable[],
): Promise<void> {
  await sql`update runs set planned_tables = ${toStoredJson(tables)}::jsonb
    where id = ${id} and attempt = ${attempt} and state = 'RUNNING'`.execute(db)
}

/**
 * Handles the end of a run: writes alerts, keeps table profiles, queues pending views and advances workflows. Runs in
 * the transaction that ends the run, so that each of these happens exactly once.
 */
export async function onRunFinished(trx: Transaction<DB>, queue: JobQueue, run: EndedRun): Promise<void> {
  await writeRunAlerts(trx, run)
  if (run.state === 'OK' || run.state === 'WARNING') {
    await keepPublishedProfiles(trx, run.uid)
    await queuePendingViews(trx, queue, run.client, await listTablesOfRun(trx, run.id))
  }
  for (const workflow of await advanceWaitingWorkflows(trx, queue, run)) await onRunFinished(trx, queue, workflow)
}
