import { signature } from '../../operation.ts'
import { recordSignatures } from '../../record-signatures.ts'
import { Client, ClientBody } from '../client.ts'

export const clients = {
  ...recordSignatures({
    noun: 'client',
    plural: 'clients',
    path: '/clients',
    see: ['ROLE_MANAGE_CLIENT'],
    manage: ['ROLE_SUPER_ADMIN'],
    resource: Client,
    body: ClientBody,
  }),
  updateProfile: signature({
    id: 'clients.updateProfile',
    summary: 'Change the public profile of a client',
    description:
      "For a client's own administrators. Takes the whole client and applies its name, translations, contacts and routeNotificationEmailAddresses; anything else that differs from what is stored is refused with 403.",
    method: 'put',
    path: '/clients/:uid/profile',
    guard: ['ROLE_MANAGE_CLIENT'],
    body: ClientBody,
    response: Client,
    versioned: true,
  }),
}
