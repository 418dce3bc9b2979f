import type { Column, DataQuery, QueryResult, Table } from '@sluice/contracts'
import { Problem, problems, type Input } from '@sluice/http'
import { isToBeDropped } from '../../engine/drops/drops.ts'
import type { WarehouseColumn, WarehouseTable } from '../../engine/warehouses/warehouse.ts'
import type { PipelineContext } from '../operation.ts'
import { loadedPipelines } from './records.ts'
import type { DataPipelineRow } from './row.ts'
import { reading } from './reading-queue.ts'
import { megabytes } from './status.ts'

type Asking<Query> = Input<PipelineContext, '/data-pipelines/:uid/table', Query, undefined>

export async function readTable(input: Asking<undefined>): Promise<Table> {
  const { pipeline, table } = await loadedTable(input)
  return presentTable(pipeline, table)
}

/** A page of the loaded rows, in the order in which they were loaded: all of its rows, or a problem. */
export async function readData(input: Asking<DataQuery>): Promise<QueryResult> {
  const { page = 1, pageSize = 100 } = input.query
  const { pipeline, table, warehouse } = await loadedTable(input)
  const start = new Date()
  const { columns, rows, truncated } = await reading(() =>
    warehouse.readTable(table.schema, table.name, { limit: pageSize, offset: (page - 1) * pageSize }),
  )
  if (truncated) throw pageTooLarge(pageSize, rows.length)
  return {
    ...presentTable(pipeline, table),
    queryStartTime: start.toISOString(),
    queryDuration: Date.now() - start.getTime(),
    rows,
    height: rows.length,
    width: columns.length,
  }
}

/** Fewer rows would make the next page skip some. */
const pageTooLarge = (asked: number, fits: number) =>
  new Problem(422, 'page-too-large', 'The page is too large.', {
    detail: `${asked} rows of this table are more than 4 MB, the most that is answered at once. Ask for pageSize=${fits} or less.`,
  })

async function loadedTable({ db, caller, params, warehouses }: Asking<unknown>) {
  const pipeline = await loadedPipelines.read(db, caller, params.uid)
  const { schema_name } = await db
    .selectFrom('schemas')
    .select('schema_name')
    .where('id', '=', pipeline.schema_id)
    .executeTakeFirstOrThrow()
  const warehouse = await warehouses.find(pipeline.client)
  const left = await isToBeDropped(db, { client: pipeline.client, schema: schema_name, table: pipeline.table_name })
  const table = left ? undefined : await warehouse?.findTable(schema_name, pipeline.table_name)
  if (!warehouse || !table) throw problems.notFound('table yet: run the pipeline first')
  return { pipeline, warehouse, table }
}

function presentTable(pipeline: DataPipelineRow, { schema, name, columns, rowCount, size }: WarehouseTable): Table {
  return {
    schema,
    name,
    tableName: name,
    displayName: pipeline.name,
    description: pipeline.description ?? undefined,
    qualifiedTableName: `${schema}.${name}`,
    size,
    sizeMb: megabytes(size),
    sizePretty: pretty(size),
    rowCount,
    columnCount: columns.length,
    columns: columns.map(presentColumn),
    foreignKeys: [],
  }
}

export const presentColumn = ({
  label,
  name,
  dataType,
  primaryKey,
  length,
}: Omit<WarehouseColumn, 'precision' | 'scale'>): Column => ({
  label,
  name,
  dataType,
  primaryKey,
  length,
})

/** `12.3 MB`, in powers of a thousand. */
function pretty(bytes: number): string {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB']
  const power = bytes < 1000 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(bytes) / 3))
  return `${power === 0 ? bytes : (bytes / 1000 ** power).toFixed(1)} ${units[power]}`
}
