import type { View, ViewBody } from '@sluice/contracts'
import { problems, type Answer } from '@sluice/http'
import { withoutSecrets } from '@sluice/records'
import type { Transaction } from 'kysely'
import type { DB } from '../../database.ts'
import { clearTheWay } from '../../engine/drops/drops.ts'
import { startRun } from '../../engine/runs/start-run.ts'
import { makeView } from '../../engine/views/make-view.ts'
import { keepSources, renameSource } from '../../engine/views/sources.ts'
import type { Asked } from '../operation.ts'
import { checkView } from './check.ts'
import { viewColumns } from './columns.ts'
import { views } from './records.ts'
import type { ViewRow } from './row.ts'

type Saving = Asked & { body: ViewBody }

/** Makes the view in the warehouse at once. Where that fails nothing is saved. */
export async function createView(input: Saving): Promise<Answer<View>> {
  const { body, caller, request, write } = input
  await checkView(body, input)
  const row = await write(async (trx) => {
    const { columns, schema } = await viewColumns(trx, body, undefined, input)
    const inserted = await views.insert(trx, caller, columns)
    const made = await bringAbout(trx, input, inserted, schema)
    request.audit(made.uid, { after: withoutSecrets(made) })
    return made
  })
  return views.created(row, input)
}

export async function updateView(input: Saving & { params: { uid: string } }): Promise<Answer<View>> {
  const { body, caller, params, request, write } = input
  await checkView(body, input)
  const row = await write(async (trx) => {
    const before = await views.lock(trx, caller, params.uid, request.ifMatch)
    const was = await placeOf(trx, before)
    const { columns, schema } = await viewColumns(trx, body, before, input)
    const updated = await views.update(trx, caller, before, columns)
    const same =
      was.schema === schema &&
      (['view_name', 'query', 'materialized'] as const).every((column) => before[column] === updated[column])
    if (!same) await demandAtRest(trx, before)
    const after = same ? updated : await bringAbout(trx, input, updated, schema)
    await renameSource(trx, caller.client, was, { schema, name: after.view_name })
    request.audit(after.uid, { before: withoutSecrets(before), after: withoutSecrets(after) })
    return after
  })
  return views.answer(row, input)
}

async function placeOf(trx: Transaction<DB>, { schema_id, view_name }: ViewRow) {
  const { schema_name } = await trx
    .selectFrom('schemas')
    .select('schema_name')
    .where('id', '=', schema_id)
    .executeTakeFirstOrThrow()
  return { schema: schema_name, name: view_name }
}

/** A run makes the view as it found it saved when it began. */
async function demandAtRest(trx: Transaction<DB>, { id }: ViewRow): Promise<void> {
  const running = await trx
    .selectFrom('runs')
    .select('uid')
    .where('runnable_id', '=', id)
    .where('state', '=', 'RUNNING')
    .executeTakeFirst()
  if (running)
    throw problems.conflict(
      '/query',
      'A run of this view is at work: cancel it or wait for its end, then change the view.',
    )
}

/**
 * The warehouse is asked inside the transaction: only so neither of the two has what the other has not, but for the moment
 * between two commits, which the next run or the next view of that name makes good. It has twenty seconds.
 */
async function bringAbout(trx: Transaction<DB>, input: Saving, row: ViewRow, schema: string): Promise<ViewRow> {
  const { db, warehouses, queue, caller } = input
  const begun = new Date()
  const warehouse = await warehouses.open(row.client)
  await clearTheWay(db, warehouse, { client: row.client, schema, table: row.view_name })
  const { uid: id, view_name: name, query, materialized } = row
  const { reads, unfinished } = await makeView(trx, warehouse, { id, schema, name, query, materialized })
  if (reads) await keepSources(trx, row.id, reads)
  if (unfinished) {
    const runnable = { id: row.id, client: row.client, kind: 'VIEW' as const }
    await startRun(trx, queue, runnable, { trigger: 'MANUAL', createdBy: caller.uid })
    return row
  }
  await trx.updateTable('views').set({ filled_at: begun }).where('id', '=', row.id).execute()
  return { ...row, filled_at: begun }
}
