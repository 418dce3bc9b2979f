import type { Input } from '@sluice/http'
import { withoutSecrets } from '@sluice/records'
import type { Kysely, Transaction } from 'kysely'
import type { DB } from '../../database.ts'
import { noteDrop } from '../../engine/drops/drops.ts'
import { viewsReading } from '../../engine/views/sources.ts'
import { dropNow } from '../drop-now.ts'
import { demandIdle, firstNames, mostNamed, refuseWhileUsed } from '../in-use.ts'
import type { PipelineContext } from '../operation.ts'
import { views } from './records.ts'
import type { ViewRow } from './row.ts'

type Asking = Input<PipelineContext, '/views/:uid', undefined, undefined>

/** In the warehouse it goes at once if the warehouse lets it go; else a worker drops it later. */
export async function deleteView(input: Asking): Promise<undefined> {
  const { caller, params, request, write, db } = input
  // Before the transaction, which waits for no warehouse.
  const seen = await views.readToWrite(db, caller, params.uid, request.ifMatch)
  const byHand = await readByHand(input, seen, await placeOf(db, seen))
  const row = await write(async (trx) => {
    const locked = await views.lock(trx, caller, params.uid, request.ifMatch)
    const place = await placeOf(trx, locked)
    await assertUnused(trx, locked, place, byHand)
    await noteDrop(trx, { client: locked.client, schema: place.schema, table: place.name })
    await views.remove(trx, locked)
    request.audit(locked.uid, { before: withoutSecrets(locked) })
    return locked
  })
  await dropNow(input, row.client, { view: row.uid })
  return undefined
}

async function placeOf(trx: Kysely<DB>, { schema_id, view_name }: ViewRow) {
  const schema = trx.selectFrom('schemas').select('schema_name').where('id', '=', schema_id)
  return { schema: (await schema.executeTakeFirstOrThrow()).schema_name, name: view_name }
}

type Place = Awaited<ReturnType<typeof placeOf>>

/** A warehouse that is away cannot tell; then the drop will. */
async function readByHand({ warehouses }: Asking, { client }: ViewRow, { schema, name }: Place): Promise<string[]> {
  const warehouse = await warehouses.find(client)
  return (await warehouse?.viewsByHand(schema, name).catch(() => [])) ?? []
}

async function assertUnused(trx: Transaction<DB>, row: ViewRow, place: Place, byHand: string[]): Promise<void> {
  const before = 'Change or delete them first.'
  const destinations = trx.selectFrom('destinations').select('name').where('view_id', '=', row.id)
  refuseWhileUsed(await firstNames(destinations), 'Destinations push this view', before)
  refuseWhileUsed(await viewsReading(trx, row.client, place), 'Other views read this view', before)
  const made = byHand.slice(0, mostNamed)
  refuseWhileUsed(made, 'Views in the warehouse that were made by hand read this view', before)
  await demandIdle(trx, row, 'VIEW', 'refresh')
}
