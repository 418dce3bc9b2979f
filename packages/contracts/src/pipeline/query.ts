import { Type } from 'typebox'
import { noUnknownFields, defineContract, type TypeOf } from '../contract.ts'
import { LongText, NonNegativeInteger, NonNegativeNumber, SingleLineText, Timestamp, Uid } from '../field-types.ts'
import { exportFields } from './export-format.ts'
import { Column } from './table.ts'

const columnLimit = { maxItems: 1600 }

/** The maximum number of rows in a response with JSON. */
export const maxQueryResultRows = 10_000

const queriedFields = {
  sql: Type.String({
    minLength: 1,
    maxLength: 100_000,
    examples: ['select region, sum(cases) as cases from cases where year = ${YEAR} group by region'],
    description:
      'One SELECT, VALUES, TABLE or WITH … SELECT in the syntax of the warehouse. `${name}` is the value of a variable.',
  }),
  schemas: Type.Optional(
    Type.Array(Type.Object({ id: Uid }, { ...noUnknownFields, title: 'QueriedSchema' }), {
      minItems: 1,
      maxItems: 1000,
      description:
        'The schemas in which tables without a schema are searched, in this order. Default: all schemas of the organisation; a table name that several of them have is then rejected.',
    }),
  ),
  variables: Type.Optional(
    Type.Array(
      Type.Object(
        {
          name: Type.String({ minLength: 1, maxLength: 255, examples: ['YEAR'] }),
          value: Type.String({ maxLength: 5000, examples: ['2026'] }),
        },
        { ...noUnknownFields, title: 'QueryVariable' },
      ),
      {
        maxItems: 100,
        uniqueItems: true,
        uniqueBy: ['name'],
        description:
          'Values for this query. Other variables have their stored values; secured variables need a value here.',
      },
    ),
  ),
}

export const QueryBody = defineContract(
  'QueryBody',
  Type.Object(
    {
      ...queriedFields,
      limit: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: 1_000_000_000,
          description: `The maximum number of rows. Default: 1,000 for JSON, which has at most ${maxQueryResultRows.toLocaleString('en')}; all rows for a file.`,
        }),
      ),
    },
    noUnknownFields,
  ),
)

export type QueryBody = TypeOf<typeof QueryBody>

export const ExplainBody = defineContract('ExplainBody', Type.Object(queriedFields, noUnknownFields))
export type ExplainBody = TypeOf<typeof ExplainBody>

export const QueryFormat = defineContract('QueryFormat', Type.Object(exportFields, noUnknownFields))
export type QueryFormat = TypeOf<typeof QueryFormat>

export const SqlQueryResult = defineContract(
  'SqlQueryResult',
  Type.Object(
    {
      columns: Type.Array(Column, columnLimit),
      rows: Type.Array(Type.Array(Type.Unknown(), columnLimit), { maxItems: maxQueryResultRows }),
      height: { ...NonNegativeInteger, description: 'The number of rows in this response.' },
      width: NonNegativeInteger,
      more: Type.Boolean({
        description: 'Whether the query has more rows than this response, because of `limit` or the limit of 4 MB.',
      }),
      queryStartTime: Timestamp,
      queryDuration: { ...NonNegativeNumber, description: 'Milliseconds.' },
    },
    noUnknownFields,
  ),
)

export type SqlQueryResult = TypeOf<typeof SqlQueryResult>

export const ExplainedQuery = defineContract(
  'ExplainedQuery',
  Type.Object(
    {
      summary: LongText,
      tables: Type.Array(
        Type.Object({ schema: SingleLineText, name: SingleLineText }, { ...noUnknownFields, title: 'QueriedTable' }),
        { maxItems: 10_000, description: 'The tables and views that the query reads.' },
      ),
      estimatedRows: Type.Optional({
        ...NonNegativeNumber,
        description: 'The rows of the result, as the warehouse estimates them. Absent if it has no estimate.',
      }),
      plan: Type.String({ maxLength: 5_000_000, description: 'The plan as the warehouse prints it.' }),
    },
    noUnknownFields,
  ),
)

export type ExplainedQuery = TypeOf<typeof ExplainedQuery>
