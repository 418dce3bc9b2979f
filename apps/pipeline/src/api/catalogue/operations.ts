import {
  pipelineOperations,
  type CatalogueNames,
  type CatalogueNamesQuery,
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
import { presentTable } from '../table-responses.ts'
import { listCatalogueSchemas, listVisibleTables, type VisibleTable } from './visible-tables.ts'

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

type NamesRequest = OperationInput<PipelineContext, '/catalogue/names', CatalogueNamesQuery, undefined>

/** Finds schemas, tables and columns for the completion of a name. */
async function findNames(input: NamesRequest): Promise<CatalogueNames> {
  const { query, caller, warehouses } = input
  const { prefix = '', limit = 50 } = query
  const { qualifiers, partialName } = splitName(prefix)
  const schemas = await listCatalogueSchemas(input)
  const visible = await listVisibleTables(input, schemas)
  const [schema] = qualifiers
  const schemaNames = schemas
    .map(({ schema_name }) => schema_name)
    .filter((name) => schema === undefined && startsWith(name, partialName))
    .toSorted()
  const tables = visible.filter(
    (table) =>
      startsWith(table.name, partialName) &&
      (schema === undefined || (qualifiers.length === 1 && isSameName(table.schema, schema))),
  )
  const places = tablesOf(visible, qualifiers)
  const warehouse = await warehouses.find(caller.client)
  const columns =
    warehouse && places.length > 0 && (schema !== undefined || partialName !== '')
      ? await warehouse.catalog.findColumnNames(places, partialName, limit + 1)
      : []
  return {
    names: [
      ...schemaNames.slice(0, limit).map((name) => ({ kind: 'SCHEMA' as const, name })),
      ...tables.slice(0, limit).map((table) => ({ kind: 'TABLE' as const, name: table.name, schema: table.schema })),
      ...columns.slice(0, limit).map(({ column, ...match }) => ({ kind: 'COLUMN' as const, name: column, ...match })),
    ],
    more: [schemaNames, tables, columns].some(({ length }) => length > limit),
  }
}

/** Splits `schema.table.na` at its dots. Names may be in double quotes, of which the last may be missing. */
function splitName(text: string): { qualifiers: string[]; partialName: string } {
  const parts = ['']
  let isQuoted = false
  for (const character of text) {
    if (character === '"') isQuoted = !isQuoted
    else if (character === '.' && !isQuoted) parts.push('')
    else parts[parts.length - 1] += character
  }
  return { qualifiers: parts.slice(0, -1), partialName: parts.at(-1)! }
}

/** Returns the tables that a qualified column name can belong to: of any schema, or of one. Without a qualifier, all tables. */
function tablesOf(visible: readonly VisibleTable[], qualifiers: readonly string[]): readonly VisibleTable[] {
  const [first, second] = qualifiers
  if (first === undefined) return visible
  if (qualifiers.length > 2) return []
  return visible.filter(({ schema, name }) =>
    second === undefined ? isSameName(name, first) : isSameName(schema, first) && isSameName(name, second),
  )
}

const startsWith = (name: string, partialName: string): boolean =>
  name.toLowerCase().startsWith(partialName.toLowerCase())
const isSameName = (name: string, other: string): boolean => name.toLowerCase() === other.toLowerCase()

async function readCatalogueTable(input: ReadTableRequest): Promise<Table> {
  const { place, table } = await requireCatalogueTable(input)
  return presentTable(table, place)
}

async function requireCatalogueTable(input: OperationInput<PipelineContext, TablePath, unknown, undefined>) {
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

const readTableColumns = async (input: ReadTableRequest): Promise<Column[]> => (await readCatalogueTable(input)).columns

export const catalogueOperations = {
  saveSchemas: definePipelineOperation(signatures.saveSchemas, saveSchemas),
  tables: definePipelineOperation(signatures.tables, (input) => listTables(input as ListTablesRequest)),
  allTables: definePipelineOperation(signatures.allTables, (input) => listTables(input as ListTablesRequest)),
  names: definePipelineOperation(signatures.names, findNames),
  table: definePipelineOperation(signatures.table, readCatalogueTable),
  columns: definePipelineOperation(signatures.columns, readTableColumns),
  tableData: definePipelineOperation(signatures.tableData, readTableRows),
  stagingTable: definePipelineOperation(signatures.stagingTable, readStagingTable),
}
