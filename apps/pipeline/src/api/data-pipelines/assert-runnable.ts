import type { RunBody } from '@sluice/contracts'
import type { Transaction } from 'kysely'
import type { DB } from '../../database.ts'
import { assertUndo, type Kind } from '../../engine/warehouses/kinds.ts'
import { demandFile } from './file-to-load.ts'
import type { DataPipelineRow } from './row.ts'

/** Refuses to run a pipeline of uploads without an upload, and a dry run where the warehouse has none. */
export async function assertRunnable(trx: Transaction<DB>, row: DataPipelineRow, { dryRun }: RunBody): Promise<void> {
  await demandFile(trx, row)
  if (dryRun) assertUndo(await kindOfSchema(trx, row))
}

/** The kind of warehouse that the table of a pipeline is in. */
export async function kindOfSchema(trx: Transaction<DB>, { schema_id }: DataPipelineRow): Promise<Kind> {
  const schema = await trx
    .selectFrom('schemas')
    .select('provider_schema')
    .where('id', '=', schema_id)
    .executeTakeFirstOrThrow()
  return schema.provider_schema as Kind
}
