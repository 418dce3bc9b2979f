import { accountSignatures } from './operations/account.ts'
import { allowedApplications, ssoClientConfigs } from './operations/sso-client-configs.ts'
import { authSignatures } from './operations/auth.ts'
import { clientSignatures } from './operations/clients.ts'
import { lookupSignatures } from './operations/service-lookups.ts'
import { mailSignatures } from './operations/mails.ts'
import { reportSignatures } from './operations/reports.ts'
import { sessionSignatures } from './operations/session.ts'
import { userGroups } from './operations/user-groups.ts'
import { ssoProviderConfigs } from './operations/sso-provider-configs.ts'
import { userSignatures } from './operations/users.ts'

export const identityOperations = {
  account: accountSignatures,
  allowedApplications,
  clients: clientSignatures,
  users: userSignatures,
  userGroups,
  session: sessionSignatures,
  reports: reportSignatures,
  ssoProviderConfigs,
  ssoClientConfigs,
  auth: authSignatures,
  mails: mailSignatures,
  lookups: lookupSignatures,
}
