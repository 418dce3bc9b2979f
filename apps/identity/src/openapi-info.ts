import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { searchGuide } from '@sluice/contracts'
import type { ServiceInfo } from '@sluice/http-server'

const packageManifest: { version: string } = JSON.parse(
  readFileSync(resolve(import.meta.dirname, '../package.json'), 'utf8'),
)

const resourceNouns: ServiceInfo['nouns'] = {
  clients: { name: 'Clients', description: 'Organisations, their contacts and their enabled features.' },
  account: { name: 'My account', description: 'Your own password, second factor, API tokens and sessions.' },
  allowedApplications: { name: 'My applications', description: 'The applications that you allow to act for you.' },
  users: {
    name: 'Users',
    description: 'Users, their roles and their status, from the invitation to the deactivation.',
  },
  userGroups: { name: 'User groups', description: 'Groups of users of one client, to share records with.' },
  session: { name: 'Session', description: 'The signed-in user, and the client that the session acts for.' },
  reports: { name: 'Reports', description: 'Reports about the access of users, and the audit log.' },
  ssoClientConfigs: {
    name: 'Applications',
    description: 'Applications whose users sign in through Sluice with OpenID Connect.',
  },
  ssoProviderConfigs: {
    name: 'SSO providers',
    description: 'The OpenID providers where the users of a client sign in.',
  },
  auth: {
    name: 'Sign-in',
    description: 'Sign-in with a password or a provider, token refreshes, and the links in mails.',
  },
  mails: { name: 'Mails', description: 'Mails that were sent to users or wait to be sent.' },
  lookups: {
    name: 'Between services',
    description: 'Requests of the pipeline service, which authenticates with SERVICE_SECRET.',
  },
}

/** The description of this service in the API reference. */
export const identityServiceInfo: ServiceInfo = {
  title: 'Sluice identity',
  version: packageManifest.version,
  description: `Clients, users and their roles, sign-in, and the tokens that both services accept.\n\n${searchGuide}`,
  nouns: resourceNouns,
}
