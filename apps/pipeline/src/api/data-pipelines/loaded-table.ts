import { type DataQuery, pipelineOperations, type QueryResult, type Table, type TableProfile } from '@sluice/contracts'
import type { FileDownload, OperationInput } from '@sluice/http-server'
import { isTableDropPending } from '../../deleted-tables/pending-table-drops.ts'
import { readTableLabels, presentTable, toTableLabels } from '../table-responses.ts'
import { readTableProfile } from '../../table-profiles/read-table-profile.ts'
import { notLoadedYet, answerRows } from '../read-table-page.ts'
import type { PipelineContext } from '../operation-context.ts'
import { type DataPipelineRow, loadedPipelines } from './records.ts'

type LoadedTableRequest<Query> = OperationInput<PipelineContext, '/data-pipelines/:uid/table', Query, undefined>

export async function readLoadedTable(input: LoadedTableRequest<undefined>): Promise<Table> {
  const { pipeline, table } = await requireLoadedTable(input)
  return presentTable(table, await readTableLabels(input.db, pipeline, table))
}

/** Reads the profile (statistics) of the rows that the pipeline loaded. */
export async function readLoadedProfile(input: LoadedTableRequest<undefined>): Promise<TableProfile> {
  const { pipeline, table } = await requireLoadedTable(input)
  return readTableProfile(input.db, pipeline.client, table)
}

/** Reads a page of the loaded rows in load order, or exports all rows as a file. */
export const readLoadedRows = (input: LoadedTableRequest<DataQuery>): Promise<QueryResult | FileDownload> =>
  answerRows(pipelineOperations.dataPipelines.data.id, input, async () => {
    const { pipeline, table, warehouse } = await requireLoadedTable(input)
    return { table, warehouse, labels: await readTableLabels(input.db, pipeline, table), object: pipeline.uid }
  })

/**
 * Reads the staging table, which has the rows of a run before they are published: those of the current run, or those of
 * a failed run for diagnosis.
 */
export async function readStagingTable(input: LoadedTableRequest<undefined>): Promise<Table> {
  const { db, caller, params } = input
  const pipeline = await loadedPipelines.read(db, caller, params.uid)
  const staging = await findStagingTableOf(input, pipeline, { counted: true })
  if (!staging) throw notLoadedYet('The pipeline has no staging table, because none of its rows wait to be published.')
  return presentTable(staging, toTableLabels(pipeline))
}

/** Returns the loaded table of a pipeline that the caller may read. Throws 404 if the pipeline has no table yet. */
async function requireLoadedTable({ db, caller, params, warehouses }: LoadedTableRequest<unknown>) {
  const pipeline = await loadedPipelines.read(db, caller, params.uid)
  const loadedTable = await findLoadedTable({ db, warehouses }, pipeline)
  if (!loadedTable) throw notLoadedYet('The pipeline has no table yet. Run the pipeline first.')
  return { pipeline, ...loadedTable }
}

/** Finds the loaded table of a pipeline. Returns undefined if it has no table yet. */
export async function findLoadedTable(
  { db, warehouses }: Pick<PipelineContext, 'db' | 'warehouses'>,
  pipeline: DataPipelineRow,
) {
  const [schema, warehouse] = [await readSchemaName(db, pipeline), await warehouses.find(pipeline.client)]
  const isDropPending = await isTableDropPending(db, { client: pipeline.client, schema, table: pipeline.table_name })
  const table = isDropPending ? undefined : await warehouse?.catalog.findTable(schema, pipeline.table_name)
  return warehouse && table && { warehouse, table }
}

/** Finds the newest staging table of a pipeline. Returns undefined if it has none. */
export async function findStagingTableOf(
  { db, warehouses }: Pick<PipelineContext, 'db' | 'warehouses'>,
  pipeline: DataPipelineRow,
  options?: { counted: boolean },
) {
  const warehouse = await warehouses.find(pipeline.client)
  return warehouse?.catalog.findStagingTable(await readSchemaName(db, pipeline), pipeline.table_name, options)
}

export async function readSchemaName(db: PipelineContext['db'], { schema_id }: DataPipelineRow): Promise<string> {
  const row = db.selectFrom('schemas').select('schema_name').where('id', '=', schema_id)
  return (await row.executeTakeFirstOrThrow()).schema_name
}
