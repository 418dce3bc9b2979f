import type { Operation } from '@sluice/http-server'
import { accountOperations } from './account/operations.ts'
import { allowedApplicationOperations } from './allowed-applications/operations.ts'
import { authLinkOperations } from './auth/one-time-link-operations.ts'
import { authOperations } from './auth/operations.ts'
import { clientOperations } from './clients/operations.ts'
import { lookupOperations } from './service-lookups/operations.ts'
import { mailOperations } from './mails/operations.ts'
import type { IdentityContext } from './operation-context.ts'
import { reportOperations } from './reports/operations.ts'
import { sessionOperations } from './session/operations.ts'
import { ssoClientConfigOperations } from './sso-client-configs/operations.ts'
import { ssoProviderConfigOperations } from './sso-provider-configs/operations.ts'
import { userGroupOperations } from './user-groups/operations.ts'
import { groupMemberOperations } from './users/group-member-operations.ts'
import { userInvitationOperations } from './users/invitation-operations.ts'
import { userAccessOperations, userOperations } from './users/operations.ts'

export const servedOperations: readonly Operation<IdentityContext>[] = [
  ...Object.values(clientOperations),
  // Must precede the user operations, because their paths would match "me" as an id.
  ...Object.values(accountOperations),
  ...Object.values(allowedApplicationOperations),
  ...Object.values(userOperations),
  ...Object.values(userInvitationOperations),
  ...Object.values(userAccessOperations),
  ...Object.values(userGroupOperations),
  ...Object.values(groupMemberOperations),
  ...Object.values(sessionOperations),
  ...Object.values(reportOperations),
  ...Object.values(ssoClientConfigOperations),
  ...Object.values(ssoProviderConfigOperations),
  ...Object.values(authOperations),
  ...Object.values(authLinkOperations),
  ...Object.values(mailOperations),
  ...Object.values(lookupOperations),
]
