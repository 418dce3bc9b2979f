import {
  pipelineOperations,
  type CatalogueNames,
  type CatalogueNamesQuery,
  type Column,
  type DataQuery,
  type Lineage,
  type QueryResult,
  type Table,
  type TableListQuery,
  type TableProfile,
} from '@sluice/contracts'
import { type FileDownload, JsonResponse, problems, type OperationInput } from '@sluice/http-server'
import type { WarehouseTable } from '@sluice/warehouses/warehouse'
import { buildPageHeaders } from '@sluice/records'
import { findOwners, readLineage } from '../objects/read-lineage.ts'
import { readStagingTable } from '../data-pipelines/loaded-table.ts'
import { definePipelineOperation, type PipelineContext } from '../operation-context.ts'
import { saveSchemas } from '../schemas/write.ts'
import { answerRows } from '../read-table-page.ts'
import { readTableProfile } from '../../table-profiles/read-table-profile.ts'
import { presentTable, type TableLabels, addDescriptions } from '../table-responses.ts'
import { readColumnStatistics, omitValues } from '../../table-profiles/stored-profiles.ts'
import { readDescriptions } from '../../table-descriptions/stored-descriptions.ts'
import { setTableDescriptions } from './set-table-descriptions.ts'
import { listCatalogueSchemas, listVisibleTables, type VisibleTable } from './visible-tables.ts'

const { catalogue: signatures } = pipelineOperations

type ListTablesRequest = OperationInput<PipelineContext, '/tables', TableListQuery, undefined> & {
  params: { uid?: string }
}
type TablePath = '/schemas/:uid/tables/:name'
type ReadTableRequest = OperationInput<PipelineContext, TablePath, undefined, undefined>
type ReadTableRowsRequest = OperationInput<PipelineContext, '/schemas/:uid/tables/:name/data', DataQuery, undefined>

/** Returns a page of the tables and views that the caller may see, sorted by schema and name. */
async function listTables(input: ListTablesRequest): Promise<JsonResponse<Table[]>> {
  const { query, params, request, warehouses, caller, db } = input
  const { page = 1, pageSize = 50, query: text = '' } = query
  const visible = await listVisibleTables(input, await listCatalogueSchemas(input, params.uid))
  const matching = visible.filter(({ name }) => name.includes(text.toLowerCase()))
  const tablesOnPage = matching.slice((page - 1) * pageSize, page * pageSize)
  const warehouse = await warehouses.find(caller.client)
  const warehouseTables = tablesOnPage.length === 0 ? [] : await warehouse!.catalog.findTables(tablesOnPage)
  const findLabels = await readLabels(db, caller.client, tablesOnPage, warehouseTables)
  const tables = warehouseTables.map((table) => presentTable(table, findLabels(table)))
  return new JsonResponse(tables, buildPageHeaders({ page, pageSize, total: matching.length }, request.url))
}

/**
 * Returns a function that returns the name, the descriptions and the statistics of one of these tables. It omits
 * statistics that contain values if the caller may not read the rows of the table.
 */
async function readLabels(
  db: PipelineContext['db'],
  client: string,
  visibleTables: readonly VisibleTable[],
  tables: readonly WarehouseTable[],
): Promise<(table: WarehouseTable) => TableLabels> {
  const [findDescriptions, findStatistics] = await Promise.all([
    readDescriptions(db, client, visibleTables),
    readColumnStatistics(db, client, tables),
  ])
  return (table) => {
    const visibleTable = visibleTables.find(({ schema, name }) => schema === table.schema && name === table.name)
    const statistics = findStatistics(table)
    const columnStatistics = visibleTable?.mayReadRows ? statistics : omitValues(statistics)
    return { ...addDescriptions(visibleTable, findDescriptions(table)), columnStatistics }
  }
}

type NamesRequest = OperationInput<PipelineContext, '/catalogue/names', CatalogueNamesQuery, undefined>

type NameMatches = CatalogueNames['names']

/** Finds the names of schemas, tables and columns that complete a prefix, for SQL editors. */
async function findNames(input: NamesRequest): Promise<CatalogueNames> {
  const { prefix = '', limit = 50 } = input.query
  const typedName = splitName(prefix)
  const schemas = await listCatalogueSchemas(input)
  const visibleTables = await listVisibleTables(input, schemas)
  const matchesByKind = [
    findMatchingSchemas(schemas, typedName),
    findMatchingTables(visibleTables, typedName),
    await findMatchingColumns(input, visibleTables, typedName, limit + 1),
  ]
  return {
    names: matchesByKind.flatMap((matches) => matches.slice(0, limit)),
    more: matchesByKind.some((matches) => matches.length > limit),
  }
}

/** Returns the schemas with a name that completes the typed name, which must have no qualifier. */
function findMatchingSchemas(
  schemas: readonly { schema_name: string }[],
  { qualifiers, partialName }: TypedName,
): NameMatches {
  if (qualifiers.length > 0) return []
  const names = schemas.map(({ schema_name }) => schema_name).filter((name) => startsWith(name, partialName))
  return names.toSorted().map((name) => ({ kind: 'SCHEMA', name }))
}

/** Returns the tables with a name that completes the typed name. Its qualifier, if there is one, is their schema. */
function findMatchingTables(
  visibleTables: readonly VisibleTable[],
  { qualifiers, partialName }: TypedName,
): NameMatches {
  if (qualifiers.length > 1) return []
  const [typedSchema] = qualifiers
  return visibleTables
    .filter(({ schema }) => typedSchema === undefined || isSameName(schema, typedSchema))
    .filter(({ name }) => startsWith(name, partialName))
    .map(({ schema, name }) => ({ kind: 'TABLE', name, schema }))
}

/** Returns the columns with a name that completes the typed name, at most `limit`. */
async function findMatchingColumns(
  { warehouses, caller }: NamesRequest,
  visibleTables: readonly VisibleTable[],
  { qualifiers, partialName }: TypedName,
  limit: number,
): Promise<NameMatches> {
  // An empty name matches the columns of all tables, so it lists none.
  if (qualifiers.length === 0 && partialName === '') return []
  const tables = findTablesOfColumn(visibleTables, qualifiers)
  if (tables.length === 0) return []
  const warehouse = await warehouses.find(caller.client)
  const columns = (await warehouse?.catalog.findColumnNames(tables, partialName, limit)) ?? []
  return columns.map(({ column, ...table }) => ({ kind: 'COLUMN', name: column, ...table }))
}

interface TypedName {
  qualifiers: string[]
  partialName: string
}

/**
 * Splits a name that a user is typing at its dots. Example: `schema.table.col` has the qualifiers `schema` and `table`
 * and the partial name `col`. Names may be in double quotes. The closing quote of the last name may be missing.
 */
function splitName(text: string): TypedName {
  const names = ['']
  let isQuoted = false
  for (const character of text) {
    if (character === '"') isQuoted = !isQuoted
    else if (character === '.' && !isQuoted) names.push('')
    else names[names.length - 1] += character
  }
  return { qualifiers: names.slice(0, -1), partialName: names.at(-1)! }
}

/**
 * Returns the tables to which a qualified column name can refer. The qualifier is a table, or a schema and a table.
 * Returns all tables for a name that has no qualifier.
 */
function findTablesOfColumn(visible: readonly VisibleTable[], qualifiers: readonly string[]): readonly VisibleTable[] {
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
  const { labels, table } = await requireCatalogueTable(input)
  return presentTable(table, labels)
}

/**
 * Returns a table with its labels and its warehouse. Throws 404 if the caller may not see the table or it does not
 * exist.
 */
async function requireCatalogueTable(
  input: Pick<
    OperationInput<PipelineContext, TablePath, unknown, undefined>,
    'db' | 'params' | 'warehouses' | 'caller'
  >,
) {
  const { params, warehouses, caller, db } = input
  const visible = await listVisibleTables(input, await listCatalogueSchemas(input, params.uid))
  const visibleTable = visible.find(({ name }) => name === params.name)
  const warehouse = await warehouses.find(caller.client)
  if (!visibleTable || !warehouse) throw problems.notFound('table')
  const [table] = await warehouse.catalog.findTables([visibleTable])
  if (!table) throw problems.notFound('table')
  const findLabels = await readLabels(db, caller.client, [visibleTable], [table])
  return { visibleTable, labels: findLabels(table), warehouse, table }
}

const readTableRows = (input: ReadTableRowsRequest): Promise<QueryResult | FileDownload> =>
  answerRows(signatures.tableData.id, input, async () => {
    const { labels, warehouse, table } = await requireCatalogueTable(input)
    return { labels, warehouse, table, object: null }
  })

async function readCatalogueProfile(
  input: OperationInput<PipelineContext, '/schemas/:uid/tables/:name/profile', undefined, undefined>,
): Promise<TableProfile> {
  const { table } = await requireCatalogueTable(input)
  return readTableProfile(input.db, input.caller.client, table)
}

/** Reads the lineage of a table or view: the lineage of the pipeline or view that created it. */
async function readTableLineage(
  input: OperationInput<PipelineContext, '/schemas/:uid/tables/:name/lineage', undefined, undefined>,
): Promise<Lineage> {
  const { visibleTable } = await requireCatalogueTable(input)
  const relation = { schema: visibleTable.schema, name: visibleTable.name }
  const owners = await findOwners(input.db, input.caller.client, [relation])
  const creators = owners.filter(({ kind }) => kind !== 'TABLE')
  return readLineage(input, { kind: 'TABLE', client: input.caller.client, relation }, creators)
}

const readTableColumns = async (input: ReadTableRequest): Promise<Column[]> => (await readCatalogueTable(input)).columns

export const catalogueOperations = {
  saveSchemas: definePipelineOperation(signatures.saveSchemas, saveSchemas),
  tables: definePipelineOperation(signatures.tables, (input) => listTables(input as ListTablesRequest)),
  allTables: definePipelineOperation(signatures.allTables, (input) => listTables(input as ListTablesRequest)),
  names: definePipelineOperation(signatures.names, findNames),
  table: definePipelineOperation(signatures.table, readCatalogueTable),
  describeTable: definePipelineOperation(signatures.describeTable, setTableDescriptions),
  columns: definePipelineOperation(signatures.columns, readTableColumns),
  tableLineage: definePipelineOperation(signatures.tableLineage, readTableLineage),
  tableData: definePipelineOperation(signatures.tableData, readTableRows),
  tableProfile: definePipelineOperation(signatures.tableProfile, readCatalogueProfile),
  stagingTable: definePipelineOperation(signatures.stagingTable, readStagingTable),
}
