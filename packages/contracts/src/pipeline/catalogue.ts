import { Type } from 'typebox'
import { closed, contract, type TypeOf } from '../contract.ts'
import { Line } from '../field-types.ts'

export const TableListQuery = contract(
  'TableListQuery',
  Type.Object(
    {
      query: Type.Optional({ ...Line, description: 'Returns only tables whose name contains this text.' }),
      page: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000 })),
      pageSize: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, description: '50 when absent.' })),
    },
    closed,
  ),
)
export type TableListQuery = TypeOf<typeof TableListQuery>
