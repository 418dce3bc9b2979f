import { Type } from 'typebox'
import { contract, type TypeOf } from '../contract.ts'

export const UploadQuery = contract(
  'UploadQuery',
  Type.Object(
    { name: Type.Optional(Type.String({ minLength: 1, maxLength: 255, description: "The file's name." })) },
    { additionalProperties: false },
  ),
)
export type UploadQuery = TypeOf<typeof UploadQuery>
