import { Type } from 'typebox'
import { closed, contract, type TypeOf } from '../contract.ts'
import { body, named, recorded, Reference, Text } from '../named.ts'
import { Client } from './client.ts'

const fields = {
  ...named,
  /** Unique within the client. */
  code: Type.String({ maxLength: 255, pattern: '^\\P{Cc}+$', examples: ['AIR-TEAM'] }),
  description: Type.Optional(Text),
}

export const UserGroupBody = contract('UserGroupBody', body({ ...fields, client: Type.Optional(Reference) }))
export type UserGroupBody = TypeOf<typeof UserGroupBody>

/** People of one client with whom things are shared together. */
export const UserGroup = contract('UserGroup', Type.Object({ ...recorded, ...fields, client: Client }, closed))
export type UserGroup = TypeOf<typeof UserGroup>
