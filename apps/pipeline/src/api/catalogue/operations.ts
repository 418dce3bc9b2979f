import { pipelineOperations, type Column, type Table, type TableListQuery } from '@sluice/contracts'
import { JsonResponse, problems, type OperationInput } from '@sluice/http-server'
import { pageHeaders } from '@sluice/records'
import { readStagingTable } from '../data-pipelines/loaded-table.ts'
import { operation, type PipelineContext } from '../operation.ts'
import { saveSchemas } from '../schemas/write.ts'
import { presentTable } from '../present-table.ts'
import { catalogueSchemas, visibleTables } from './visible-tables.ts'

const { catalogue: signatures } = pipelineOperations

type ListTablesRequest = OperationInput<PipelineContext, '/tables', TableListQuery, undefined> & {
  params: { uid?: string }
}
type ReadTableRequest = OperationInput<PipelineContext, '/schemas/:uid/tables/:name', undefined, undefined>

/** Sorts by schema, then by name. */
async function listTables(input: ListTablesRequest): Promise<JsonResponse<Table[]>> {
  const { query, params, request, warehouses, caller } = input
  const { page = 1, pageSize = 50, query: wanted = '' } = query
  const visible = await visibleTables(input, await catalogueSchemas(input, params.uid))
  const matching = visible.filter(({ name }) => name.includes(wanted.toLowerCase()))
  const shown = matching.slice((page - 1) * pageSize, page * pageSize)
  const warehouse = await warehouses.find(caller.client)
  const found = shown.length === 0 ? [] : await warehouse!.catalog.findTables(shown)
  const tables = found.map((table) =>
    presentTable(
      table,
      shown.find(({ schema, name }) => schema === table.schema && name === table.name),
    ),
  )
  return new JsonResponse(tables, pageHeaders({ page, pageSize, total: matching.length }, request.url))
}

async function readTable(input: ReadTableRequest): Promise<Table> {
  const { params, warehouses, caller } = input
  const visible = await visibleTables(input, await catalogueSchemas(input, params.uid))
  const shown = visible.find(({ name }) => name === params.name)
  const warehouse = shown && (await warehouses.find(caller.client))
  const [table] = (await warehouse?.catalog.findTables([shown!])) ?? []
  if (!table) throw problems.notFound('table')
  return presentTable(table, shown)
}

const readColumns = async (input: ReadTableRequest): Promise<Column[]> => (await readTable(input)).columns

export const catalogueOperations = {
  saveSchemas: operation(signatures.saveSchemas, saveSchemas),
  tables: operation(signatures.tables, (input) => listTables(input as ListTablesRequest)),
  allTables: operation(signatures.allTables, (input) => listTables(input as ListTablesRequest)),
  table: operation(signatures.table, readTable),
  columns: operation(signatures.columns, readColumns),
  stagingTable: operation(signatures.stagingTable, readStagingTable),
}
