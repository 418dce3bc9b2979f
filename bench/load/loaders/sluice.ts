import type { ServiceClient } from '@sluice/client'
import { runToTheEnd } from '../../../infra/demo/run-and-wait.ts'
import { uploadFile } from '../../../infra/demo/upload-file.ts'
import { dataPipelines, type Installation } from '../installation.ts'
import { onDatabase } from '../database.ts'
import { resetPeakMemory, peakMemory } from '../memory.ts'
import type { Loader, LoadCost } from './loader.ts'

export interface Source {
  /** Name of the pipeline and the table. Unique among pipelines. */
  name: string
  type: string
  /** Fields of the source type. */
  settings?: object
  /** A file to upload first. */
  file?: { path: string; size: number }
  /** Suffix of the name of the compared table, such as `__children`; by default the pipeline's table. */
  table?: string
  /** See `TableLocation`. */
  values?: string
  /** Called with the pipeline's uid before its first run. */
  onCreated?(uid: string): Promise<void>
}

/**
 * Creates a pipeline and uploads its file through the API. Every load is a run of the pipeline. The time is from the
 * request of the run to its end by the service's clock, so it includes queue, type inference, staging, ledger and swap.
 */
export async function createSluiceLoader(
  installation: Installation,
  source: Source,
): Promise<Loader & Required<Pick<Loader, 'table'>>> {
  const { pipeline, schema, workerPid } = installation
  const { id } = await createPipeline(pipeline, schema.id, source)
  await source.onCreated?.(id)
  let upload = { uploaded: new Date(0).toISOString() }
  if (source.file) {
    const { path, size } = source.file
    upload = await uploadFile(pipeline, id, { path, size, name: path.split('/').at(-1)! }, { sent: () => {} })
  }
  let database = ''
  return {
    name: 'Sluice',
    table: () => ({
      database,
      table: `bench.${source.name}${source.table ?? ''}`,
      ...(source.values !== undefined && { values: source.values }),
    }),
    async load(): Promise<LoadCost> {
      await resetPeakMemory(workerPid)
      const run = await runToTheEnd(pipeline, id, upload as never, { seen: () => {} })
      if (run.status !== 'OK') throw new Error(`The run of ${source.name} ended ${run.status}: ${run.message}`)
      database ||= await warehouseUrl(installation)
      const milliseconds = Date.parse(run.finished!) - Date.parse(run.created)
      return { milliseconds, memory: await peakMemory(workerPid) }
    },
  }
}

async function createPipeline(
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

/** Returns the superuser's connection string of the client's warehouse, which the first load creates. */
async function warehouseUrl({ databaseUrl }: Installation): Promise<string> {
  const { rows } = await onDatabase(databaseUrl('pipeline'), (client) => client.query('select key from warehouses'))
  return databaseUrl(`c_${rows[0]?.key}`)
}
