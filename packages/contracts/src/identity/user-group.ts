import { Type } from 'typebox'
import { noUnknownFields, defineContract, type TypeOf } from '../contract.ts'
import { bodyOf, lineOf, namedAndDescribed, recordFields, ObjectReference, LongText } from '../field-types.ts'
import { Client } from './client.ts'

const userGroupFields = {
  ...namedAndDescribed,
  /** The code of a user group. The name is unique in the client (organisation), regardless of case. */
  code: lineOf({ maxLength: 255, examples: ['AIR-TEAM'] }),
  description: Type.Optional(LongText),
}

export const UserGroupBody = defineContract(
  'UserGroupBody',
  bodyOf(
    { ...userGroupFields, client: Type.Optional(ObjectReference) },
    { ...recordFields, displayDescription: LongText },
  ),
)
export type UserGroupBody = TypeOf<typeof UserGroupBody>

/** A group of users of one client (organisation). Objects can be shared with the group. */
export const UserGroup = defineContract(
  'UserGroup',
  Type.Object(
    { ...recordFields, ...userGroupFields, displayDescription: Type.Optional(LongText), client: Client },
    noUnknownFields,
  ),
)
export type UserGroup = TypeOf<typeof UserGroup>
