import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { searchGuide } from '@sluice/contracts'
import type { ServiceInfo } from '@sluice/http-server'

const manifest: { version: string } = JSON.parse(readFileSync(resolve(import.meta.dirname, '../package.json'), 'utf8'))

const nouns: ServiceInfo['nouns'] = {
  clients: { name: 'Clients', description: 'Organisations: their contacts, and what is switched on for them.' },
  account: {
    name: 'My account',
    description: 'What people do for themselves: password, second factor, API tokens, sessions.',
  },
  allowedApplications: {
    name: 'My applications',
    description: 'The applications that one allowed to act for oneself.',
  },
  users: { name: 'Users', description: 'Who may sign in and with which roles, from the invitation to the end.' },
  userGroups: { name: 'User groups', description: 'People of one client with whom things are shared together.' },
  session: { name: 'Session', description: 'Who one is, and for which client one acts.' },
  reports: { name: 'Reports', description: 'Who can do what, and who did what.' },
  ssoClientConfigs: {
    name: 'Applications',
    description: 'Applications that people sign in to here, with OpenID Connect.',
  },
  ssoProviderConfigs: { name: 'SSO providers', description: 'Where the people of a client sign in elsewhere.' },
  auth: { name: 'Sign-in', description: 'Tokens for a password or from a provider, and the links that are mailed.' },
  mails: { name: 'Mails', description: 'What went out to users, or waits to be handed over.' },
  lookups: {
    name: 'Between services',
    description: 'What the pipeline service asks this one. With SERVICE_SECRET only.',
  },
}

/** The description of this service in the API reference. */
export const info: ServiceInfo = {
  title: 'Sluice identity',
  version: manifest.version,
  description: `Clients, users and their roles, sign-in, and the tokens that both services take.\n\n${searchGuide}`,
  nouns,
}
