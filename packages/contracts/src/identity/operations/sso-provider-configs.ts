import { ResultEnvelope } from '../../result-envelope.ts'
import { defineSignature } from '../../operation-signature.ts'
import { defineRecordSignatures } from '../../crud-operation-signatures.ts'
import { SsoProviderConfig, SsoProviderConfigBody, SsoProviderConfigWithCredentials } from '../sso-provider-config.ts'

const { list, create, read, update, ...rest } = defineRecordSignatures({
  noun: 'SSO provider config',
  plural: 'ssoProviderConfigs',
  path: '/sso-provider-configs',
  see: ['ROLE_MANAGE_SSO_PROVIDER_CONFIG'],
  manage: ['ROLE_MANAGE_SSO_PROVIDER_CONFIG'],
  resource: SsoProviderConfig,
  body: SsoProviderConfigBody,
})

const keptSecretNote =
  'An absent or null clientId or clientSecret keeps the stored value; an empty text deletes it. If you change the address, send the secret again, because a stored secret is never sent to another address.'

export const ssoProviderConfigs = {
  list,
  create: defineSignature({
    ...create,
    description: 'A client can have only one provider.',
  }),
  read,
  update: defineSignature({ ...update, description: keptSecretNote }),
  updateForClient: defineSignature({
    ...update,
    id: 'ssoProviderConfigs.updateForClient',
    summary: 'Replace the SSO provider config of a client, and read its credentials',
    description: `${keptSecretNote} Only this response contains clientId and clientSecret.`,
    path: '/clients/:clientId/sso-provider-configs/:uid',
    guard: ['ROLE_SUPER_ADMIN'],
    response: SsoProviderConfigWithCredentials,
  }),
  delete: rest.delete,
  test: defineSignature({
    id: 'ssoProviderConfigs.test',
    summary: 'Test an SSO provider',
    description:
      'Requests the metadata and keys of the provider, and sends an invalid code that it must reject. No user is signed in. A failed test is a successful response with the status ERROR or WARNING and a message.',
    method: 'post',
    path: '/sso-provider-configs/:uid/test',
    guard: ['ROLE_MANAGE_SSO_PROVIDER_CONFIG'],
    effect: 'read',
    response: ResultEnvelope,
  }),
}
