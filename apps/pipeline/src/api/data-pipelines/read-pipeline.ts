import { setTimeout as sleep } from 'node:timers/promises'
import type { DataPipeline } from '@sluice/contracts'
import { Answer, type Input } from '@sluice/http'
import { presentTable } from '../catalogue/present-table.ts'
import type { PipelineContext } from '../operation.ts'
import { findLoaded, findStaging, shownAs } from './loaded-table.ts'
import { dataPipelines } from './records.ts'

/** Milliseconds. A pipeline is worth reading without its table. */
const patience = 2_000

/**
 * One pipeline, with the table that it has loaded and the name of its staging table, as the warehouse has them now. Lists leave both out,
 * because they would need a query of the warehouse for each pipeline.
 */
export async function readPipeline(
  input: Input<PipelineContext, '/data-pipelines/:uid', undefined, undefined>,
): Promise<Answer<DataPipeline>> {
  const { db, caller, params } = input
  const row = await dataPipelines.read(db, caller, params.uid)
  const [{ body, headers }, loaded, staging] = await Promise.all([
    dataPipelines.answer(row, input),
    inTime(findLoaded(input, row).catch(() => undefined)),
    inTime(findStaging(input, row).catch(() => undefined)),
  ])
  const mainTableAsTable = loaded && presentTable(loaded.table, shownAs(row))
  return new Answer(
    {
      ...body,
      dataWarehouseTarget: { ...body.dataWarehouseTarget, stagingTableName: staging?.name },
      status: { ...body.status, mainTableAsTable },
    },
    headers,
  )
}

async function inTime<T>(work: Promise<T>): Promise<T | undefined> {
  const over = new AbortController()
  const late = sleep(patience, undefined, { signal: over.signal }).catch(() => undefined)
  try {
    return await Promise.race([work, late])
  } finally {
    over.abort()
  }
}
