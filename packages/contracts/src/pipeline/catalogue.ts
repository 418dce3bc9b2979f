import { Type } from 'typebox'
import { noUnknownFields, defineContract, type TypeOf } from '../contract.ts'
import { LongText, SingleLineText, requiredBecause } from '../field-types.ts'
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

/** Descriptions of a table and its columns. Absent ones keep their texts, and an empty text removes one. */
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
