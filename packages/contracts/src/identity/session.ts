import { Type } from 'typebox'
import { closed, contract, type TypeOf } from '../contract.ts'
import { Line, Uid } from '../field-types.ts'
import { Roles } from '../roles.ts'
import { Client, clientDomains } from './client.ts'
import { User, UserGroupSummary } from './user.ts'

export const SessionUser = contract(
  'SessionUser',
  Type.Object(
    {
      id: Uid,
      client: Line,
      username: Line,
      email: Line,
      name: Line,
      createdBy: Type.Optional(Line),
      lastUpdatedBy: Type.Optional(Line),
      twoFactorAuth: Type.Boolean(),
      /** The roles when the token was issued. Absent if they are the same as `auths`. */
      preUpdateAuths: Type.Optional(Roles),
      auths: Roles,
      userGroups: Type.Array(UserGroupSummary, { maxItems: 1000 }),
      pipelinesEnabled: Type.Boolean(),
      hasIntegrationRouteAccess: Type.Boolean(),
      hasAnalyticsPlatformAccess: Type.Boolean(),
      hasManagerAccess: Type.Boolean(),
      hasUserAccess: Type.Boolean(),
      hasClientAccess: Type.Boolean(),
    },
    closed,
  ),
)

export const SessionClient = contract(
  'SessionClient',
  Type.Object(
    {
      id: Uid,
      code: Line,
      name: Line,
      disabled: Type.Boolean(),
      domain: Type.Enum([...clientDomains]),
      managerEnabled: Type.Boolean(),
      integrationRoutesEnabled: Type.Boolean(),
      analyticsPlatformEnabled: Type.Boolean(),
      enterpriseEnabled: Type.Boolean(),
    },
    closed,
  ),
)

const forwardTargets = ['SERVICE_MANAGER', 'SERVICE_INTEGRATION', 'SERVICE_DATA_PIPELINE'] as const

/** The signed-in user, their client and their start page. */
export const Session = contract(
  'Session',
  Type.Object(
    {
      activeUser: User,
      user: SessionUser,
      activeClient: Client,
      client: SessionClient,
      config: Type.Object({ serviceIntro: Type.Boolean() }, closed),
      forwardTo: Type.Optional(Type.Enum([...forwardTargets])),
    },
    closed,
  ),
)
export type Session = TypeOf<typeof Session>

export const SwitchClientBody = contract('SwitchClientBody', Type.Object({ clientId: Uid }, closed))
export type SwitchClientBody = TypeOf<typeof SwitchClientBody>
