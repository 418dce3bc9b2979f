import { listOf, type Contract, type TypeOf } from '../../contract.ts'
import { defineSignature } from '../../operation-signature.ts'
import { CatalogueNames, CatalogueNamesQuery, TableDescriptionsBody, TableListQuery } from '../catalogue.ts'
import { Lineage } from '../lineage.ts'
import { Schema, SchemaBody } from '../schema.ts'
import { Column, DataQuery, QueryResult, Table } from '../table.ts'
import { TableProfile, tableProfileNote } from '../table-profile.ts'
import { exportFileTypes } from '../export-format.ts'

const catalogueReaderRoles = ['ROLE_SEE_SCHEMA', 'ROLE_VIEW_DATA_ALL_DATA_PIPELINE'] as const

const visibleTablesNote =
  'Returns the tables of the data pipelines and views that the caller may see. Other tables require the permission to see all loaded data.'

/** The columns of a table. This response has its own limit, because a table can have more than 1,000 columns. */
const ColumnList = { type: 'array', items: Column, maxItems: 1600 } as Contract<TypeOf<typeof Column>[]>

const SchemaBodies = { type: 'array', items: SchemaBody, minItems: 1, maxItems: 1000 } as Contract<
  TypeOf<typeof SchemaBody>[]
>

export const catalogueSignatures = {
  saveSchemas: defineSignature({
    id: 'schemas.saveAll',
    summary: 'Create or replace schemas by name',
    description:
      'Saves all schemas or none. Violations point to the schema by its position in the list, as in `/0/name`.',
    method: 'put',
    path: '/schemas',
    guard: ['ROLE_MANAGE_SCHEMA'],
    body: SchemaBodies,
    response: listOf(Schema),
  }),
  tables: defineSignature({
    id: 'schemas.tables',
    summary: 'List the tables of a schema',
    description: visibleTablesNote,
    method: 'get',
    path: '/schemas/:uid/tables',
    guard: catalogueReaderRoles,
    query: TableListQuery,
    response: listOf(Table),
    paged: true,
  }),
  allTables: defineSignature({
    id: 'tables.list',
    summary: 'List the tables of all schemas',
    description: visibleTablesNote,
    method: 'get',
    path: '/tables',
    guard: catalogueReaderRoles,
    query: TableListQuery,
    response: listOf(Table),
    paged: true,
  }),
  names: defineSignature({
    id: 'catalogue.names',
    summary: 'Find schemas, tables and columns by the first characters of their names',
    description: `For completion in editors. ${visibleTablesNote}`,
    method: 'get',
    path: '/catalogue/names',
    guard: catalogueReaderRoles,
    query: CatalogueNamesQuery,
    response: CatalogueNames,
  }),
  table: defineSignature({
    id: 'schemas.table',
    summary: 'Read a table of a schema: columns, keys, rows, size',
    method: 'get',
    path: '/schemas/:uid/tables/:name',
    guard: catalogueReaderRoles,
    response: Table,
  }),
  describeTable: defineSignature({
    id: 'schemas.describeTable',
    summary: 'Describe a table and its columns',
    description:
      'A description that the body leaves out stays as it is, and an empty text removes one. Descriptions belong to the names of the table and its columns, so they stay when the table is loaded again. The caller must be allowed to change the data pipeline or view of the table, or its schema.',
    method: 'put',
    path: '/schemas/:uid/tables/:name/descriptions',
    guard: ['ROLE_MANAGE_DATA_PIPELINE', 'ROLE_MANAGE_VIEW', 'ROLE_MANAGE_SCHEMA'],
    body: TableDescriptionsBody,
    response: Table,
  }),
  columns: defineSignature({
    id: 'schemas.columns',
    summary: 'Read the columns of a table',
    description:
      'Distinct values (an estimate), nulls, minimum and maximum are those of the last load. They are absent if the rows have changed since then. For dates and times, minimum and maximum are milliseconds since 1970-01-01T00:00:00Z.',
    method: 'get',
    path: '/schemas/:uid/tables/:name/columns',
    guard: catalogueReaderRoles,
    response: ColumnList,
  }),
  tableLineage: defineSignature({
    id: 'schemas.tableLineage',
    summary: 'List what creates a table or view, and what reads it',
    description: visibleTablesNote,
    method: 'get',
    path: '/schemas/:uid/tables/:name/lineage',
    guard: catalogueReaderRoles,
    response: Lineage,
  }),
  tableData: defineSignature({
    id: 'schemas.tableData',
    summary: 'Read the rows of a table or view of a schema',
    description: 'Also returns the rows of tables that neither a data pipeline nor a view of Sluice created.',
    method: 'get',
    path: '/schemas/:uid/tables/:name/data',
    guard: ['ROLE_VIEW_DATA_ALL_DATA_PIPELINE'],
    query: DataQuery,
    fileTypes: exportFileTypes,
    response: QueryResult,
  }),
  tableProfile: defineSignature({
    id: 'schemas.tableProfile',
    summary: 'Read the profile of the loaded rows of a table',
    description: tableProfileNote,
    method: 'get',
    path: '/schemas/:uid/tables/:name/profile',
    guard: ['ROLE_VIEW_DATA_ALL_DATA_PIPELINE'],
    response: TableProfile,
  }),
  stagingTable: defineSignature({
    id: 'dataPipelines.stagingTable',
    summary: 'Read the rows that a current or failed run has loaded but not published',
    method: 'get',
    path: '/data-pipelines/:uid/staging-table',
    guard: ['ROLE_SEE_DATA_PIPELINE', 'ROLE_VIEW_DATA_ALL_DATA_PIPELINE'],
    response: Table,
  }),
}
