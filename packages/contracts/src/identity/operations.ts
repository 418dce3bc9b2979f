import { account } from './operations/account.ts'
import { allowedApplications, ssoClientConfigs } from './operations/sso-client-configs.ts'
import { auth } from './operations/auth.ts'
import { clients } from './operations/clients.ts'
import { lookups } from './operations/service-lookups.ts'
import { mails } from './operations/mails.ts'
import { reports } from './operations/reports.ts'
import { session } from './operations/session.ts'
import { userGroups } from './operations/user-groups.ts'
import { ssoProviderConfigs } from './operations/sso-provider-configs.ts'
import { users } from './operations/users.ts'

export const identityOperations = {
  account,
  allowedApplications,
  clients,
  users,
  userGroups,
  session,
  reports,
  ssoProviderConfigs,
  ssoClientConfigs,
  auth,
  mails,
  lookups,
}
