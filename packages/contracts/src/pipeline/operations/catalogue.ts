import { listOf, type Contract, type TypeOf } from '../../contract.ts'
import { signature } from '../../operation.ts'
import { TableListQuery } from '../catalogue.ts'
import { Schema, SchemaBody } from '../schema.ts'
import { Column, Table } from '../table.ts'

const see = ['ROLE_SEE_SCHEMA', 'ROLE_VIEW_DATA_ALL_DATA_PIPELINE'] as const

const shown =
  'Tables of the data pipelines and views that the caller may see. What nobody’s pipeline or view made is for those who may see all loaded data.'

/** The response contains all columns, which can be more than a thousand. */
const Columns = { type: 'array', items: Column, maxItems: 1600 } as Contract<TypeOf<typeof Column>[]>

const SchemaBodies = { type: 'array', items: SchemaBody, minItems: 1, maxItems: 1000 } as Contract<
  TypeOf<typeof SchemaBody>[]
>

export const catalogueSignatures = {
  saveSchemas: signature({
    id: 'schemas.saveAll',
    summary: 'Create or replace schemas, by their names',
    description: 'All or nothing: a problem names the schema by its place in the list.',
    method: 'put',
    path: '/schemas',
    guard: ['ROLE_MANAGE_SCHEMA'],
    body: SchemaBodies,
    response: listOf(Schema),
  }),
  tables: signature({
    id: 'schemas.tables',
    summary: 'The tables of a schema',
    description: shown,
    method: 'get',
    path: '/schemas/:uid/tables',
    guard: see,
    query: TableListQuery,
    response: listOf(Table),
    paged: true,
  }),
  allTables: signature({
    id: 'tables.list',
    summary: 'The tables of all schemas',
    description: shown,
    method: 'get',
    path: '/tables',
    guard: see,
    query: TableListQuery,
    response: listOf(Table),
    paged: true,
  }),
  table: signature({
    id: 'schemas.table',
    summary: 'A table of a schema: columns, keys, rows, size',
    method: 'get',
    path: '/schemas/:uid/tables/:name',
    guard: see,
    response: Table,
  }),
  columns: signature({
    id: 'schemas.columns',
    summary: 'The columns of a table',
    description:
      'Distinct values (an estimate), nulls, minimum and maximum are as the last load measured them, and absent where something else changed the rows since. Of dates and times, minimum and maximum are milliseconds since 1970-01-01T00:00:00Z.',
    method: 'get',
    path: '/schemas/:uid/tables/:name/columns',
    guard: see,
    response: Columns,
  }),
  stagingTable: signature({
    id: 'dataPipelines.stagingTable',
    summary: 'The rows that wait to be published, or that a failed run left',
    method: 'get',
    path: '/data-pipelines/:uid/staging-table',
    guard: ['ROLE_SEE_DATA_PIPELINE', 'ROLE_VIEW_DATA_ALL_DATA_PIPELINE'],
    response: Table,
  }),
}
