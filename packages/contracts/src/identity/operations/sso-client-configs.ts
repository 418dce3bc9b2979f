import { signature } from '../../operation.ts'
import { recordSignatures } from '../../record-signatures.ts'
import { SsoClientConfig, SsoClientConfigBody } from '../sso-client-config.ts'

const {
  list,
  create,
  read,
  delete: remove,
} = recordSignatures({
  noun: 'SSO client config',
  plural: 'ssoClientConfigs',
  path: '/sso-client-configs',
  see: ['ROLE_MANAGE_SSO_CLIENT_CONFIG'],
  manage: ['ROLE_MANAGE_SSO_CLIENT_CONFIG'],
  resource: SsoClientConfig,
  body: SsoClientConfigBody,
})

export const ssoClientConfigs = {
  list,
  create,
  read,
  update: signature({
    id: 'ssoClientConfigs.update',
    summary: 'Replace an SSO client config',
    description:
      'A body without clientSecret keeps the one there is; null takes it away, which makes the application a public one. `clientId` is the client that the application belongs to.',
    method: 'put',
    path: '/clients/:clientId/sso-client-configs/:uid',
    guard: ['ROLE_MANAGE_SSO_CLIENT_CONFIG'],
    body: SsoClientConfigBody,
    response: SsoClientConfig,
    versioned: true,
  }),
  delete: remove,
}
