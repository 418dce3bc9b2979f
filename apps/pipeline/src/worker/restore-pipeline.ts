import { isTableDropPending } from '../deleted-tables/pending-table-drops.ts'
import { type WarehouseKind, assertUndo } from '@sluice/warehouses/warehouse-kinds'
import { dataTablesOf } from '@sluice/warehouses/load-target'
import { type Publication, type Warehouse, WarehouseProblem } from '@sluice/warehouses/warehouse'
import { readPipeline } from './read-pipeline-to-load.ts'
import { describeChange, describeRestore } from './load-message-texts.ts'
import { listPublishedTables } from './load-result.ts'
import { readPublicationTime } from '../runs/read-runs.ts'
import type { RunAttempt, RunSuccess, RunContext } from './run-handler.ts'

/**
 * Restores the version of the table that the last publication replaced. Throws the errors of `Loader.restore`, and
 * NOTHING_TO_RESTORE if the table is marked to be dropped.
 */
export async function restorePipeline(context: RunContext, attempt: RunAttempt): Promise<RunSuccess> {
  const { claim, log, signal, sendHeartbeat, onBackgroundWork } = attempt
  const { schema, table, provider } = await readPipeline(context.db, claim.subject.id)
  assertUndo(provider as WarehouseKind)
  const warehouse = await context.warehouses.open(claim.client)
  const earlierPublication = await warehouse.loader.findPublication(claim.uid)
  if (earlierPublication) return presentRestore(warehouse, earlierPublication)
  log.write('INFO', 'LOW', `Attempt ${claim.attempt} begins to restore ${schema}.${table}.`)
  if (await isTableDropPending(context.db, { client: claim.client, schema, table }))
    throw new WarehouseProblem(
      'NOTHING_TO_RESTORE',
      `The table ${schema}.${table} still has the rows of a deleted pipeline, which cannot be restored. Run this pipeline to load its own rows.`,
    )
  const previousPublication = await warehouse.loader.findPrevious(schema, table)
  const previousTime = previousPublication && (await readPublicationTime(context.db, previousPublication))
  const target = { schema, table, run: claim.uid, attempt: claim.attempt }
  const onWait = (reason: string) => log.write('WARN', 'MEDIUM', reason)
  const publication = await warehouse.loader.restore(target, sendHeartbeat, signal, {
    onBackgroundWork,
    onWait,
  })
  for (const table of publication.tables)
    for (const change of table.changes) log.write('INFO', 'HIGH', describeChange(table, change))
  return presentRestore(warehouse, publication, previousTime)
}

/** Returns the result of a restore. `publishedAt`: the publication of the restored rows, if it is known. */
export async function presentRestore(
  warehouse: Warehouse,
  publication: Publication,
  publishedAt?: Date,
): Promise<RunSuccess> {
  return {
    state: 'OK',
    message: describeRestore(publication.tables, publishedAt),
    rowsWritten: dataTablesOf(publication.tables).reduce((sum, { rows }) => sum + rows, 0),
    bytesWritten: 0,
    rowsRejected: 0,
    tables: await listPublishedTables(warehouse, publication.tables),
  }
}
