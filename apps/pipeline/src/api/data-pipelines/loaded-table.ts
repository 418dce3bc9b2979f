import type { DataQuery, QueryResult, Table } from '@sluice/contracts'
import { problems, type OperationInput } from '@sluice/http-server'
import { isTableDropPending } from '../../drops/drops.ts'
import { presentTable, type TableLabels } from '../present-table.ts'
import { readPage } from '../read-page.ts'
import type { PipelineContext } from '../operation.ts'
import { type DataPipelineRow, loadedPipelines } from './records.ts'

type LoadedTableRequest<Query> = OperationInput<PipelineContext, '/data-pipelines/:uid/table', Query, undefined>

export async function readTable(input: LoadedTableRequest<undefined>): Promise<Table> {
  const { pipeline, table } = await loadedTable(input)
  return presentTable(table, shownAs(pipeline))
}

/** A page of the loaded rows, in the order in which they were loaded. */
export const readData = (input: LoadedTableRequest<DataQuery>): Promise<QueryResult> =>
  readPage(input, async () => {
    const { pipeline, ...found } = await loadedTable(input)
    return { ...found, shown: shownAs(pipeline) }
  })

/** Reads the staging table: rows of the current run, or of a failed run for diagnosis. */
export async function readStagingTable(input: LoadedTableRequest<undefined>): Promise<Table> {
  const { db, caller, params } = input
  const pipeline = await loadedPipelines.read(db, caller, params.uid)
  const staging = await findStaging(input, pipeline, { counted: true })
  if (!staging) throw problems.notFound('staging table: no rows wait to be published')
  return presentTable(staging, shownAs(pipeline))
}

export const shownAs = ({ name, description }: DataPipelineRow): TableLabels => ({
  displayName: name,
  description: description ?? undefined,
})

async function loadedTable({ db, caller, params, warehouses }: LoadedTableRequest<unknown>) {
  const pipeline = await loadedPipelines.read(db, caller, params.uid)
  const found = await findLoaded({ db, warehouses }, pipeline)
  if (!found) throw problems.notFound('table yet: run the pipeline first')
  return { pipeline, ...found }
}

/** The loaded table of a pipeline; undefined before its first load. */
export async function findLoaded(
  { db, warehouses }: Pick<PipelineContext, 'db' | 'warehouses'>,
  pipeline: DataPipelineRow,
) {
  const [schema, warehouse] = [await schemaOf(db, pipeline), await warehouses.find(pipeline.client)]
  const left = await isTableDropPending(db, { client: pipeline.client, schema, table: pipeline.table_name })
  const table = left ? undefined : await warehouse?.catalog.findTable(schema, pipeline.table_name)
  return warehouse && table && { warehouse, table }
}

/** The newest staging table of a pipeline; undefined if the warehouse has none. */
export async function findStaging(
  { db, warehouses }: Pick<PipelineContext, 'db' | 'warehouses'>,
  pipeline: DataPipelineRow,
  options?: { counted: boolean },
) {
  const warehouse = await warehouses.find(pipeline.client)
  return warehouse?.catalog.findStagingTable(await schemaOf(db, pipeline), pipeline.table_name, options)
}

export async function schemaOf(db: PipelineContext['db'], { schema_id }: DataPipelineRow): Promise<string> {
  const row = db.selectFrom('schemas').select('schema_name').where('id', '=', schema_id)
  return (await row.executeTakeFirstOrThrow()).schema_name
}
