import {
  pipelineOperations,
  type Column,
  type DataQuery,
  type QueryResult,
  type Table,
  type TableListQuery,
} from '@sluice/contracts'
import { type FileDownload, JsonResponse, problems, type OperationInput } from '@sluice/http-server'
import { pageHeaders } from '@sluice/records'
import { readStagingTable } from '../data-pipelines/loaded-table.ts'
import { definePipelineOperation, type PipelineContext } from '../operation-context.ts'
import { saveSchemas } from '../schemas/write.ts'
import { answerRows } from '../read-table-page.ts'
import { presentTable, withDescriptions } from '../table-responses.ts'
import { readDescriptions } from '../../table-descriptions/stored-descriptions.ts'
import { describeTable } from './describe-table.ts'
import { listCatalogueSchemas, listVisibleTables } from './visible-tables.ts'

const { catalogue: signatures } = pipelineOperations

type ListTablesRequest = OperationInput<PipelineContext, '/tables', TableListQuery, undefined> & {
  params: { uid?: string }
}
type TablePath = '/schemas/:uid/tables/:name'
type ReadTableRequest = OperationInput<PipelineContext, TablePath, undefined, undefined>
type ReadTableRowsRequest = OperationInput<PipelineContext, '/schemas/:uid/tables/:name/data', DataQuery, undefined>

/** Lists tables and views by schema, then by name. */
async function listTables(input: ListTablesRequest): Promise<JsonResponse<Table[]>> {
  const { query, params, request, warehouses, caller, db } = input
  const { page = 1, pageSize = 50, query: part = '' } = query
  const visible = await listVisibleTables(input, await listCatalogueSchemas(input, params.uid))
  const matching = visible.filter(({ name }) => name.includes(part.toLowerCase()))
  const places = matching.slice((page - 1) * pageSize, page * pageSize)
  const warehouse = await warehouses.find(caller.client)
  const [found, descriptionsOf] = await Promise.all([
    places.length === 0 ? [] : warehouse!.catalog.findTables(places),
    readDescriptions(db, caller.client, places),
  ])
  const tables = found.map((table) => {
    const labels = places.find(({ schema, name }) => schema === table.schema && name === table.name)
    return presentTable(table, withDescriptions(labels, descriptionsOf(table)))
  })
  return new JsonResponse(tables, pageHeaders({ page, pageSize, total: matching.length }, request.url))
}

async function readCatalogueTable(input: ReadTableRequest): Promise<Table> {
  const { labels, table } = await requireCatalogueTable(input)
  return presentTable(table, labels)
}

async function requireCatalogueTable(input: OperationInput<PipelineContext, TablePath, unknown, undefined>) {
  const { params, warehouses, caller, db } = input
  const visible = await listVisibleTables(input, await listCatalogueSchemas(input, params.uid))
  const place = visible.find(({ name }) => name === params.name)
  const warehouse = place && (await warehouses.find(caller.client))
  const [table] = (await warehouse?.catalog.findTables([place!])) ?? []
  if (!place || !warehouse || !table) throw problems.notFound('table')
  const descriptionsOf = await readDescriptions(db, caller.client, [place])
  return { labels: withDescriptions(place, descriptionsOf(place)), warehouse, table }
}

const readTableRows = (input: ReadTableRowsRequest): Promise<QueryResult | FileDownload> =>
  answerRows(signatures.tableData.id, input, async () => {
    return { ...(await requireCatalogueTable(input)), object: null }
  })

const readTableColumns = async (input: ReadTableRequest): Promise<Column[]> => (await readCatalogueTable(input)).columns

export const catalogueOperations = {
  saveSchemas: definePipelineOperation(signatures.saveSchemas, saveSchemas),
  tables: definePipelineOperation(signatures.tables, (input) => listTables(input as ListTablesRequest)),
  allTables: definePipelineOperation(signatures.allTables, (input) => listTables(input as ListTablesRequest)),
  table: definePipelineOperation(signatures.table, readCatalogueTable),
  describeTable: definePipelineOperation(signatures.describeTable, describeTable),
  columns: definePipelineOperation(signatures.columns, readTableColumns),
  tableData: definePipelineOperation(signatures.tableData, readTableRows),
  stagingTable: definePipelineOperation(signatures.stagingTable, readStagingTable),
}
