import { Type } from 'typebox'
import { noUnknownFields, defineContract, type TypeOf } from '../contract.ts'
import { SingleLineText } from '../field-types.ts'

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
