import { Type } from 'typebox'
import { closed, contract, type TypeOf } from '../contract.ts'

export const UploadQuery = contract(
  'UploadQuery',
  Type.Object(
    { name: Type.Optional(Type.String({ minLength: 1, maxLength: 255, description: "The file's name." })) },
    closed,
  ),
)
export type UploadQuery = TypeOf<typeof UploadQuery>
