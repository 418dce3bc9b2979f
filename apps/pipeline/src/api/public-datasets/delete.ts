import type { Transaction } from 'kysely'
import { sql } from 'kysely'
import { problems, type Caller } from '@sluice/http'
import { visibleTo, withoutSecrets } from '@sluice/records'
import type { DB } from '../../database.ts'
import { underWay } from '../../engine/runs/states.ts'
import { dataPipelineWriting, type LinkedFiles } from '../data-pipelines/write.ts'
import type { DataPipelineRow } from '../data-pipelines/row.ts'
import type { Asked } from '../operation.ts'
import { lockKey } from './catalogue-pipeline.ts'
import { publicDatasets, uidOfKey } from './records.ts'

/** Deletes a dataset that nobody loads, with what loads it and its rows. */
export async function removeDataset(input: Asked, key: string): Promise<void> {
  const { caller, write, request } = input
  const { pipeline, linked } = await write(async (trx) => {
    await lockKey(trx, key)
    const row = await publicDatasets.lock(trx, caller, await uidOfKey(trx, key), request.ifMatch)
    await assertUnused(trx, key, caller)
    await publicDatasets.remove(trx, row)
    const loading = await takePipeline(trx, row.pipeline_id, input)
    request.audit(row.uid, { before: withoutSecrets(row) })
    return loading
  })
  await dataPipelineWriting.afterDelete(pipeline, input, linked)
}

/** Pipelines of others are counted, and no more is said of them. */
async function assertUnused(trx: Transaction<DB>, key: string, caller: Caller): Promise<void> {
  const { rows } = await sql<{ name: string; shown: boolean }>`
    select r.name, coalesce(${visibleTo(caller, 'READ')}, false) as shown from data_pipelines r
    where r.type = 'PUBLIC_DATASET' and r.settings ->> 'key' = ${key} order by r.name`.execute(trx)
  if (rows.length === 0) return
  const own = rows.filter(({ shown }) => shown).map(({ name }) => `"${name}"`)
  const others = rows.length - Math.min(own.length, 5)
  const counted = others > 0 ? [`${others} ${own.length > 0 ? 'more' : 'of others'}`] : []
  throw problems.conflict(
    '/',
    `Data pipelines load this public dataset: ${[...own.slice(0, 5), ...counted].join(', ')}. They have to be deleted first.`,
  )
}

async function takePipeline(
  trx: Transaction<DB>,
  id: number,
  input: Asked,
): Promise<{ pipeline: DataPipelineRow; linked: LinkedFiles }> {
  const active = await trx
    .selectFrom('runs')
    .select('uid')
    .where('runnable_id', '=', id)
    .where('state', 'in', [...underWay])
    .executeTakeFirst()
  if (active) throw problems.conflict('/', 'The public dataset is being loaded just now: wait for the end of that.')
  const pipeline = await trx
    .selectFrom('data_pipelines')
    .selectAll()
    .where('id', '=', id)
    .$castTo<DataPipelineRow>()
    .executeTakeFirstOrThrow()
  const linked = await dataPipelineWriting.beforeDelete(trx, pipeline, input)
  await trx.deleteFrom('data_pipelines').where('id', '=', id).execute()
  return { pipeline, linked }
}
