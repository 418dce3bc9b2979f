import { Type } from 'typebox'
import { closed, contract, type TypeOf } from '../contract.ts'
import { bodyOf, lineOf, namedAndDescribed, recorded, Reference, Text } from '../named.ts'
import { Client } from './client.ts'

const fields = {
  ...namedAndDescribed,
  /** Unique within the client, ignoring case. */
  code: lineOf({ maxLength: 255, examples: ['AIR-TEAM'] }),
  description: Type.Optional(Text),
}

export const UserGroupBody = contract(
  'UserGroupBody',
  bodyOf({ ...fields, client: Type.Optional(Reference) }, { ...recorded, displayDescription: Text }),
)
export type UserGroupBody = TypeOf<typeof UserGroupBody>

/** Users of one client that objects can be shared with as a group. */
export const UserGroup = contract(
  'UserGroup',
  Type.Object({ ...recorded, ...fields, displayDescription: Type.Optional(Text), client: Client }, closed),
)
export type UserGroup = TypeOf<typeof UserGroup>
