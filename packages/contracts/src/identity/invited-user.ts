import { Type } from 'typebox'
import { closed, contract, type TypeOf } from '../contract.ts'
import { InvitationLink, User } from './user.ts'

/** A user and, where there is no mail server to bring it to them and somebody asks in person, the link by which they accept their invitation. */
export const InvitedUser = contract(
  'InvitedUser',
  Type.Object({ ...User.properties, invitationLink: Type.Optional(InvitationLink) }, closed),
)
export type InvitedUser = TypeOf<typeof InvitedUser>
