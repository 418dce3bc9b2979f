import type { RunBody } from '@sluice/contracts'
import type { Transaction } from 'kysely'
import type { DB } from '../../database.ts'
import { assertUndo } from './assert-undo.ts'
import { demandFile } from './file-to-load.ts'
import { placeOfPipeline } from './place-of-pipeline.ts'
import type { DataPipelineRow } from './row.ts'

/** Refuses to run a pipeline of uploads without an upload, and a dry run where the warehouse has none. */
export async function assertRunnable(trx: Transaction<DB>, row: DataPipelineRow, { dryRun }: RunBody): Promise<void> {
  await demandFile(trx, row)
  if (dryRun) assertUndo((await placeOfPipeline(trx, row)).provider)
}
