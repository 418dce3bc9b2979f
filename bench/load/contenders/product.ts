import type { ServiceClient } from '@sluice/client'
import { runToTheEnd } from '../../../infra/demo/follow-run.ts'
import { uploadFile } from '../../../infra/demo/upload-file.ts'
import { dataPipelines, type Installation } from '../installation.ts'
import { onDatabase } from '../database.ts'
import { forgetPeak, peakMemory } from '../memory.ts'
import type { Contender, Measured } from './contender.ts'

export interface Source {
  /** Unique among pipelines; the table's name is made of it. */
  name: string
  type: string
  /** Fields of the type. */
  settings?: object
  /** A file to upload first. */
  file?: { path: string; size: number }
  /** Behind the pipeline's table, of the one that is compared: `__children`. */
  table?: string
  /** What is compared of its rows; see `Place`. */
  values?: string
  /** Told the pipeline's uid, before its first run. */
  made?(uid: string): Promise<void>
}

/**
 * The product through its API and its worker: a pipeline is made, the file uploaded, and every load is a run of it.
 * Measured from the moment that the run was asked for to its end, by the service's own clock: queue, types, staging,
 * ledger and swap included.
 */
export async function product(
  installation: Installation,
  source: Source,
): Promise<Contender & Required<Pick<Contender, 'table'>>> {
  const { pipeline, schema, workerPid } = installation
  const { id } = await create(pipeline, schema.id, source)
  await source.made?.(id)
  let uploaded = { uploaded: new Date(0).toISOString() }
  if (source.file) {
    const { path, size } = source.file
    uploaded = await uploadFile(pipeline, id, { path, size, name: path.split('/').at(-1)! }, { sent: () => {} })
  }
  let database = ''
  return {
    name: 'Sluice',
    table: () => ({
      database,
      table: `bench.${source.name}${source.table ?? ''}`,
      ...(source.values !== undefined && { values: source.values }),
    }),
    async load(): Promise<Measured> {
      await forgetPeak(workerPid)
      const run = await runToTheEnd(pipeline, id, uploaded as never, { seen: () => {} })
      if (run.status !== 'OK') throw new Error(`The run of ${source.name} ended ${run.status}: ${run.message}`)
      database ||= await warehouseOf(installation)
      const milliseconds = Date.parse(run.finished!) - Date.parse(run.created)
      return { milliseconds, memory: await peakMemory(workerPid) }
    },
  }
}

async function create(
  pipeline: ServiceClient,
  schema: string,
  { name, type, settings }: Source,
): Promise<{ id: string }> {
  const body = {
    name,
    type,
    ...settings,
    disabled: false,
    runTrigger: 'NEVER',
    dataWarehouseTarget: { schema: { id: schema }, tableName: name },
  }
  return pipeline.call(dataPipelines.create, { body: body as never })
}

/** The client's own database, as the superuser. It is made with the first load, or before. */
async function warehouseOf({ databaseUrl }: Installation): Promise<string> {
  const { rows } = await onDatabase(databaseUrl('pipeline'), (client) => client.query('select key from warehouses'))
  return databaseUrl(`c_${rows[0]?.key}`)
}
