import { ResultEnvelope } from '../../envelope.ts'
import { signature } from '../../operation.ts'
import { recordSignatures } from '../../record-signatures.ts'
import { SsoProviderConfig, SsoProviderConfigBody, SsoProviderConfigWithCredentials } from '../sso-provider-config.ts'

const { list, create, read, update, ...rest } = recordSignatures({
  noun: 'SSO provider config',
  plural: 'ssoProviderConfigs',
  path: '/sso-provider-configs',
  see: ['ROLE_MANAGE_SSO_PROVIDER_CONFIG'],
  manage: ['ROLE_MANAGE_SSO_PROVIDER_CONFIG'],
  resource: SsoProviderConfig,
  body: SsoProviderConfigBody,
})

const kept =
  'A body without clientId or clientSecret, or with null, keeps what is stored; an empty text clears it. A secret goes to no other provider than the one it was given for: with a new address, send it again.'

export const ssoProviderConfigs = {
  list,
  create: signature({
    ...create,
    description: 'A client has one provider at most, so that its users need not choose.',
  }),
  read,
  update: signature({ ...update, description: kept }),
  updateForClient: signature({
    ...update,
    id: 'ssoProviderConfigs.updateForClient',
    summary: 'Replace the SSO provider config of a client, and read its credentials',
    description: `${kept} The one answer with clientId and clientSecret in it.`,
    path: '/clients/:clientId/sso-provider-configs/:uid',
    guard: ['ROLE_SUPER_ADMIN'],
    response: SsoProviderConfigWithCredentials,
  }),
  delete: rest.delete,
  test: signature({
    id: 'ssoProviderConfigs.test',
    summary: 'Try an SSO provider, and say what is wrong with it',
    description:
      'Asks the provider for its metadata and keys, and lets it refuse a made-up code. Signs nobody in. What is wrong is an answer too: status ERROR or WARNING, and a sentence.',
    method: 'post',
    path: '/sso-provider-configs/:uid/test',
    guard: ['ROLE_MANAGE_SSO_PROVIDER_CONFIG'],
    effect: 'read',
    response: ResultEnvelope,
  }),
}
