import { Type } from 'typebox'
import { closed, contract, type TypeOf } from '../contract.ts'
import { Line, Timestamp, Uid } from '../named.ts'
import { applicationScopes } from './sso-client-config.ts'

/** An application, and what its user said yes to. */
export const AllowedApplication = contract(
  'AllowedApplication',
  Type.Object(
    {
      /** Of the SSO client config. */
      id: Uid,
      ssoClientId: Line,
      clientName: Line,
      scopes: Type.Array(Type.Enum([...applicationScopes]), { uniqueItems: true, maxItems: applicationScopes.length }),
      /** When it was first allowed anything, and when last more. */
      allowed: Timestamp,
      lastUpdated: Timestamp,
      /** When it last signed in or refreshed, as far as a session that is kept knows of it. */
      lastUsed: Type.Optional(Timestamp),
    },
    closed,
  ),
)
export type AllowedApplication = TypeOf<typeof AllowedApplication>
