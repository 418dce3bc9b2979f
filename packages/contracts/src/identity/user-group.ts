import { Type } from 'typebox'
import { closed, contract, type TypeOf } from '../contract.ts'
import { bodyOf, lineOf, namedAndDescribed, recorded, Reference, Text } from '../field-types.ts'
import { Client } from './client.ts'

const userGroupFields = {
  ...namedAndDescribed,
  /** The name is unique in the client, regardless of case. */
  code: lineOf({ maxLength: 255, examples: ['AIR-TEAM'] }),
  description: Type.Optional(Text),
}

export const UserGroupBody = contract(
  'UserGroupBody',
  bodyOf({ ...userGroupFields, client: Type.Optional(Reference) }, { ...recorded, displayDescription: Text }),
)
export type UserGroupBody = TypeOf<typeof UserGroupBody>

/** A group of users of one client. Objects can be shared with the group. */
export const UserGroup = contract(
  'UserGroup',
  Type.Object({ ...recorded, ...userGroupFields, displayDescription: Type.Optional(Text), client: Client }, closed),
)
export type UserGroup = TypeOf<typeof UserGroup>
