import {
  pipelineOperations,
  type Column,
  type DataQuery,
  type Lineage,
  type QueryResult,
  type Table,
  type TableListQuery,
} from '@sluice/contracts'
import { type FileDownload, JsonResponse, problems, type OperationInput } from '@sluice/http-server'
import { pageHeaders } from '@sluice/records'
import { findOwners, readLineage } from '../objects/read-lineage.ts'
import { readStagingTable } from '../data-pipelines/loaded-table.ts'
import { definePipelineOperation, type PipelineContext } from '../operation-context.ts'
import { saveSchemas } from '../schemas/write.ts'
import { answerRows } from '../read-table-page.ts'
import { presentTable } from '../table-responses.ts'
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
  const { query, params, request, warehouses, caller } = input
  const { page = 1, pageSize = 50, query: part = '' } = query
  const visible = await listVisibleTables(input, await listCatalogueSchemas(input, params.uid))
  const matching = visible.filter(({ name }) => name.includes(part.toLowerCase()))
  const places = matching.slice((page - 1) * pageSize, page * pageSize)
  const warehouse = await warehouses.find(caller.client)
  const found = places.length === 0 ? [] : await warehouse!.catalog.findTables(places)
  const tables = found.map((table) =>
    presentTable(
      table,
      places.find(({ schema, name }) => schema === table.schema && name === table.name),
    ),
  )
  return new JsonResponse(tables, pageHeaders({ page, pageSize, total: matching.length }, request.url))
}

async function readCatalogueTable(input: ReadTableRequest): Promise<Table> {
  const { place, table } = await requireCatalogueTable(input)
  return presentTable(table, place)
}

async function requireCatalogueTable(
  input: Pick<
    OperationInput<PipelineContext, TablePath, unknown, undefined>,
    'db' | 'params' | 'warehouses' | 'caller'
  >,
) {
  const { params, warehouses, caller } = input
  const visible = await listVisibleTables(input, await listCatalogueSchemas(input, params.uid))
  const place = visible.find(({ name }) => name === params.name)
  const warehouse = place && (await warehouses.find(caller.client))
  const [table] = (await warehouse?.catalog.findTables([place!])) ?? []
  if (!place || !warehouse || !table) throw problems.notFound('table')
  return { place, warehouse, table }
}

const readTableRows = (input: ReadTableRowsRequest): Promise<QueryResult | FileDownload> =>
  answerRows(signatures.tableData.id, input, async () => {
    const { place, table, warehouse } = await requireCatalogueTable(input)
    return { warehouse, table, labels: place, object: null }
  })

/** Reads the lineage of a table or view. It reads the pipeline or view that creates it. */
async function readTableLineage(
  input: OperationInput<PipelineContext, '/schemas/:uid/tables/:name/lineage', undefined, undefined>,
): Promise<Lineage> {
  const { place } = await requireCatalogueTable(input)
  const relation = { schema: place.schema, name: place.name }
  const owners = await findOwners(input.db, input.caller.client, [relation])
  const creators = owners.filter(({ kind }) => kind !== 'TABLE')
  return readLineage(input, { kind: 'TABLE', client: input.caller.client, relation }, creators)
}

const readTableColumns = async (input: ReadTableRequest): Promise<Column[]> => (await readCatalogueTable(input)).columns

export const catalogueOperations = {
  saveSchemas: definePipelineOperation(signatures.saveSchemas, saveSchemas),
  tables: definePipelineOperation(signatures.tables, (input) => listTables(input as ListTablesRequest)),
  allTables: definePipelineOperation(signatures.allTables, (input) => listTables(input as ListTablesRequest)),
  table: definePipelineOperation(signatures.table, readCatalogueTable),
  columns: definePipelineOperation(signatures.columns, readTableColumns),
  tableLineage: definePipelineOperation(signatures.tableLineage, readTableLineage),
  tableData: definePipelineOperation(signatures.tableData, readTableRows),
  stagingTable: definePipelineOperation(signatures.stagingTable, readStagingTable),
}
