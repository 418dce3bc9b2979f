import type { ResultEnvelope, providerSchemas } from '@sluice/contracts'
import { type OperationInput, Problem } from '@sluice/http-server'
import type { Kysely } from 'kysely'
import { isTableDropPending } from '../../deleted-tables/pending-table-drops.ts'
import { readPublicationTime } from '../../runs/read-runs.ts'
import { startRun } from '../../run-lifecycle/start-run.ts'
import { refusalTitle } from '../../problems/problem-catalogue.ts'
import type { PipelineContext } from '../operation-context.ts'
import { createAcceptedRunResult } from '../result-envelope.ts'
import { createAlreadyRunningResult, assertSameAction } from '../runs/operations.ts'
import { type DataPipelineRow, dataPipelines } from './records.ts'
import type { DB } from '../../database.ts'
import { undoRefusal, type WarehouseKind } from '@sluice/warehouses/warehouse-kinds'

type RestoreRequest = OperationInput<PipelineContext, '/data-pipelines/:uid/restore', undefined, undefined>

/**
 * Queues a run that restores the previous load: it swaps the previous version of the table back in. A disabled pipeline
 * can be restored too, because users disable it first so that no scheduled load replaces the restored rows.
 */
export async function restorePrevious(input: RestoreRequest): Promise<ResultEnvelope> {
  const { db, caller, params, request, queue, write } = input
  // Query the warehouse before the transaction, because a transaction must not wait for a warehouse. The run checks
  // this again.
  const row = await dataPipelines.readToWrite(db, caller, params.uid, undefined)
  const previousVersion = await findPreviousVersion(input, row)
  if (!previousVersion)
    throw new Problem(422, 'nothing-to-restore', refusalTitle('NOTHING_TO_RESTORE'), {
      detail:
        'The warehouse has no previous version of the table. A full load keeps the version that it replaces, for a limited time and while there is space. Load the old data again instead.',
    })
  const { run, existing } = await write(async (trx) => {
    const { id, client } = await dataPipelines.lock(trx, caller, params.uid, undefined)
    const started = await startRun(
      trx,
      queue,
      { id, client, kind: 'DATA_PIPELINE' },
      { trigger: 'MANUAL', action: 'RESTORE', createdBy: caller.uid },
    )
    assertSameAction(started, 'RESTORE')
    request.audit(params.uid, { run: started.run.uid })
    return started
  })
  if (existing) return createAlreadyRunningResult(run.uid)
  const publishedAt = (await readPublicationTime(db, previousVersion)).toISOString()
  return createAcceptedRunResult(
    'restore-queued',
    `The restore of the rows that were published at ${publishedAt} is queued.`,
    run.uid,
  )
}

/**
 * Finds the version of the pipeline's table that the last full load replaced. Throws 422 if the warehouse keeps no such
 * versions.
 */
async function findPreviousVersion({ db, warehouses }: RestoreRequest, row: DataPipelineRow) {
  const { schema, provider } = await readTargetSchema(db, row)
  assertUndoSupported(provider)
  // The table may be the remainder of a deleted pipeline that is still to be dropped. Its rows must not be restored.
  if (await isTableDropPending(db, { client: row.client, schema, table: row.table_name })) return undefined
  const warehouse = await warehouses.find(row.client)
  return warehouse?.loader.findPrevious(schema, row.table_name)
}

/** Returns the name of a pipeline's target schema, and the type of its warehouse. */
export async function readTargetSchema(
  db: Kysely<DB>,
  { schema_id }: DataPipelineRow,
): Promise<{ schema: string; provider: WarehouseKind }> {
  const row = await db
    .selectFrom('schemas')
    .select(['schema_name', 'provider_schema'])
    .where('id', '=', schema_id)
    .executeTakeFirstOrThrow()
  return { schema: row.schema_name, provider: row.provider_schema as WarehouseKind }
}

/**
 * Throws 422 `not-supported-here` if the kind of warehouse supports neither dry runs nor restoring the previous load.
 */
export function assertUndoSupported(provider: (typeof providerSchemas)[number]): void {
  const detail = undoRefusal(provider)
  if (detail !== undefined)
    throw new Problem(422, 'not-supported-here', 'The warehouse rejected the request.', { detail })
}
