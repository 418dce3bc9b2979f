import { defineSignature } from '../../operation-signature.ts'
import { defineRecordSignatures } from '../../crud-operation-signatures.ts'
import { Client, ClientBody } from '../client.ts'

export const clientSignatures = {
  ...defineRecordSignatures({
    noun: 'client',
    plural: 'clients',
    path: '/clients',
    see: ['ROLE_MANAGE_CLIENT'],
    manage: ['ROLE_SUPER_ADMIN'],
    resource: Client,
    body: ClientBody,
  }),
  updateProfile: defineSignature({
    id: 'clients.updateProfile',
    summary: 'Change the public profile of a client',
    description:
      'For administrators of the client. Send the whole client: name, translations, contacts and routeNotificationEmailAddresses are changed. The response is 403 if any other field differs from the stored value.',
    method: 'put',
    path: '/clients/:uid/profile',
    guard: ['ROLE_MANAGE_CLIENT'],
    body: ClientBody,
    response: Client,
    versioned: true,
  }),
}
