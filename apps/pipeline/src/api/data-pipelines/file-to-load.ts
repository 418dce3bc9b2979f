import type { Transaction } from 'kysely'
import { problems } from '@sluice/http'
import type { DB } from '../../database.ts'
import type { DataPipelineRow } from './row.ts'
import { kindOf } from './types/registry.ts'

/** Refuses to run a pipeline of uploads that nothing was uploaded to. */
export async function demandFile(trx: Transaction<DB>, { id, uid, type }: DataPipelineRow): Promise<void> {
  if (!kindOf(type).upload) return
  const file = await trx.selectFrom('uploaded_files').select('uid').where('pipeline_id', '=', id).executeTakeFirst()
  if (!file)
    throw problems.refused('/file', `There is no file to load yet: upload one to /api/v1/data-pipelines/${uid}/file.`)
}
