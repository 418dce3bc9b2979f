import type { ServiceClient } from '@sluice/client'
import type { RunBody } from '@sluice/client/pipeline'
import { runToCompletion } from '../../../infra/demo/run-and-wait.ts'
import { uploadFile } from '../../../infra/demo/upload-file.ts'
import { dataPipelines, type Installation } from '../installation.ts'
import { withConnection } from '../database.ts'
import { resetPeakMemory, readPeakMemory } from '../process-memory.ts'
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
  const created = await createLoadedPipeline(installation, source)
  let database = ''
  return {
    name: 'Sluice',
    table: () => ({
      database,
      table: `bench.${source.name}${source.table ?? ''}`,
      ...(source.values !== undefined && { values: source.values }),
    }),
    async load(): Promise<LoadCost> {
      const { workerPid } = installation
      await resetPeakMemory(workerPid)
      const { requested, finished } = await runAndWait(installation, created)
      database ||= await warehouseUrl(installation)
      return { milliseconds: finished - requested, memory: await readPeakMemory(workerPid) }
    },
  }
}

/** A pipeline and the upload that its runs load. */
export interface CreatedPipeline {
  id: string
  name: string
  upload: object
}

/** Creates a pipeline and uploads its file. */
export async function createLoadedPipeline(
  { pipeline, schema }: Installation,
  source: Source,
): Promise<CreatedPipeline> {
  const { id } = await createPipeline(pipeline, schema.id, source)
  await source.onCreated?.(id)
  let upload: object = { uploaded: new Date(0).toISOString() }
  if (source.file) {
    const { path, size } = source.file
    upload = await uploadFile(pipeline, id, { path, size, name: path.split('/').at(-1)! }, { sent: () => {} })
  }
  return { id, name: source.name, upload }
}

/** Runs a pipeline. Returns when the run was requested and when it ended, by the clock of the service. */
export async function runAndWait(
  { pipeline }: Installation,
  { id, name, upload }: CreatedPipeline,
  body: RunBody = {},
): Promise<{ requested: number; finished: number }> {
  const run = await runToCompletion(pipeline, id, upload as never, { onProgress: () => {} }, body)
  if (run.status !== 'OK') throw new Error(`The run of ${name} ended ${run.status}: ${run.message}`)
  return { requested: Date.parse(run.created), finished: Date.parse(run.finished!) }
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
  const { rows } = await withConnection(databaseUrl('pipeline'), (client) => client.query('select key from warehouses'))
  return databaseUrl(`c_${rows[0]?.key}`)
}
