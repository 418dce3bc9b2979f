import { Type } from 'typebox'
import { noUnknownFields, defineContract, type TypeOf } from '../contract.ts'
import { SingleLineText, Uid } from '../field-types.ts'
import { RoleList } from '../roles.ts'
import { Client, clientDomains } from './client.ts'
import { User, UserGroupSummary } from './user.ts'

export const SessionUser = defineContract(
  'SessionUser',
  Type.Object(
    {
      id: Uid,
      client: SingleLineText,
      username: SingleLineText,
      email: SingleLineText,
      name: SingleLineText,
      createdBy: Type.Optional(SingleLineText),
      lastUpdatedBy: Type.Optional(SingleLineText),
      twoFactorAuth: Type.Boolean(),
      /** The user's roles when the token was issued. Absent if they are the same as `auths`. */
      preUpdateAuths: Type.Optional(RoleList),
      auths: RoleList,
      userGroups: Type.Array(UserGroupSummary, { maxItems: 1000 }),
      pipelinesEnabled: Type.Boolean(),
      hasIntegrationRouteAccess: Type.Boolean(),
      hasAnalyticsPlatformAccess: Type.Boolean(),
      hasManagerAccess: Type.Boolean(),
      hasUserAccess: Type.Boolean(),
      hasClientAccess: Type.Boolean(),
    },
    noUnknownFields,
  ),
)

export const SessionClient = defineContract(
  'SessionClient',
  Type.Object(
    {
      id: Uid,
      code: SingleLineText,
      name: SingleLineText,
      disabled: Type.Boolean(),
      domain: Type.Enum([...clientDomains]),
      managerEnabled: Type.Boolean(),
      integrationRoutesEnabled: Type.Boolean(),
      analyticsPlatformEnabled: Type.Boolean(),
      enterpriseEnabled: Type.Boolean(),
    },
    noUnknownFields,
  ),
)

const forwardTargets = ['SERVICE_MANAGER', 'SERVICE_INTEGRATION', 'SERVICE_DATA_PIPELINE'] as const

/** The signed-in user, their client (organisation) and their start page. */
export const CurrentSession = defineContract(
  'Session',
  Type.Object(
    {
      activeUser: User,
      user: SessionUser,
      activeClient: Client,
      client: SessionClient,
      config: Type.Object({ serviceIntro: Type.Boolean() }, noUnknownFields),
      forwardTo: Type.Optional(Type.Enum([...forwardTargets])),
    },
    noUnknownFields,
  ),
)
export type CurrentSession = TypeOf<typeof CurrentSession>

export const SwitchClientBody = defineContract('SwitchClientBody', Type.Object({ clientId: Uid }, noUnknownFields))
export type SwitchClientBody = TypeOf<typeof SwitchClientBody>
