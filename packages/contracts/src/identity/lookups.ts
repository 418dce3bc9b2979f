import { Type } from 'typebox'
import { closed, contract, type TypeOf } from '../contract.ts'
import { Line, Timestamp, Uid } from '../named.ts'
import { Roles } from '../roles.ts'
import { userStatuses } from './user.ts'

export const ClientSummary = contract(
  'ClientSummary',
  Type.Object({ id: Uid, code: Line, name: Line, disabled: Type.Boolean(), pipelinesEnabled: Type.Boolean() }, closed),
)
export type ClientSummary = TypeOf<typeof ClientSummary>

/**
 * What a service must know of a user before it lets a token in: a token issued before `tokenValidAfter`, of a user who is
 * not ACTIVE or of a disabled client is refused. `client` is the one the session acts for.
 */
export const Standing = contract(
  'Standing',
  Type.Object(
    {
      id: Uid,
      username: Line,
      name: Line,
      status: Type.Enum([...userStatuses]),
      tokenValidAfter: Timestamp,
      /** False once the session was ended. */
      sessionOpen: Type.Boolean(),
      roles: Roles,
      userGroups: Type.Array(Uid, { maxItems: 1000 }),
      client: ClientSummary,
    },
    closed,
  ),
)
export type Standing = TypeOf<typeof Standing>

export const StandingQuery = contract('StandingQuery', Type.Object({ session: Uid }, closed))
export type StandingQuery = TypeOf<typeof StandingQuery>

export const LookupBody = contract(
  'LookupBody',
  Type.Object({ ids: Type.Array(Uid, { minItems: 1, maxItems: 1000 }) }, closed),
)
export type LookupBody = TypeOf<typeof LookupBody>

export const UserSummary = contract(
  'UserSummary',
  Type.Object({ id: Uid, client: Uid, username: Line, name: Line, status: Type.Enum([...userStatuses]) }, closed),
)
export type UserSummary = TypeOf<typeof UserSummary>
