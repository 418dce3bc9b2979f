import { Type } from 'typebox'
import { noUnknownFields, defineContract, type TypeOf } from '../contract.ts'
import { dataTypes } from '../data-type.ts'
import { LongText, NonNegativeInteger, SingleLineText, requiredBecause } from '../field-types.ts'
import { ColumnDescription, columnLimit } from './table.ts'

export const TableListQuery = defineContract(
  'TableListQuery',
  Type.Object(
    {
      query: Type.Optional({ ...SingleLineText, description: 'Returns only tables whose name contains this text.' }),
      page: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000 })),
      pageSize: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, description: 'Default: 50.' })),
    },
    noUnknownFields,
  ),
)

export type TableListQuery = TypeOf<typeof TableListQuery>

/**
 * Descriptions of a table and its columns. An absent description keeps its stored text, and an empty text removes it.
 */
export const TableDescriptionsBody = defineContract(
  'TableDescriptionsBody',
  Type.Object(
    {
      description: Type.Optional(LongText),
      columns: Type.Optional(
        Type.Array(
          Type.Object(
            {
              name: requiredBecause(SingleLineText, 'it is the name of the column in the warehouse'),
              description: requiredBecause(ColumnDescription, 'it is the text about the column'),
            },
            { ...noUnknownFields, title: 'ColumnDescriptionBody' },
          ),
          columnLimit,
        ),
      ),
    },
    noUnknownFields,
  ),
)

export type TableDescriptionsBody = TypeOf<typeof TableDescriptionsBody>

export const CatalogueNamesQuery = defineContract(
  'CatalogueNamesQuery',
  Type.Object(
    {
      prefix: Type.Optional(
        Type.String({
          maxLength: 255,
          examples: ['ca', 'health.ca', 'health.cases.re'],
          description:
            'The first characters of a name, in any case. `schema.` before it finds the tables of a schema, `table.` or `schema.table.` the columns of a table. Without a prefix, no columns are returned.',
        }),
      ),
      limit: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: 1_000,
          description: 'The maximum number of names of each kind. Default: 50.',
        }),
      ),
    },
    noUnknownFields,
  ),
)

export type CatalogueNamesQuery = TypeOf<typeof CatalogueNamesQuery>

export const CatalogueNames = defineContract(
  'CatalogueNames',
  Type.Object(
    {
      names: Type.Array(
        Type.Object(
          {
            kind: Type.Enum(['SCHEMA', 'TABLE', 'COLUMN'], { description: 'TABLE includes views.' }),
            name: SingleLineText,
            schema: Type.Optional({ ...SingleLineText, description: 'The schema of a table or column.' }),
            table: Type.Optional({
              ...SingleLineText,
              description: 'The table of a column; if several tables have a column of this name, one of them.',
            }),
            dataType: Type.Optional(
              Type.Enum([...dataTypes], { description: 'The type of the column in that table.' }),
            ),
            tables: Type.Optional({
              ...NonNegativeInteger,
              description: 'How many tables have a column of this name.',
            }),
          },
          { ...noUnknownFields, title: 'CatalogueName' },
        ),
        { maxItems: 3_000, description: 'Schemas, tables, then columns, each in alphabetical order.' },
      ),
      more: Type.Boolean({ description: 'Whether a kind has more names than `limit`.' }),
    },
    noUnknownFields,
  ),
)

export type CatalogueNames = TypeOf<typeof CatalogueNames>
