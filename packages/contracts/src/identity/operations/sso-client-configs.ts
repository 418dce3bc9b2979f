import { signature } from '../../operation.ts'
import { recordSignatures } from '../../record-signatures.ts'
import { SsoClientConfig, SsoClientConfigBody } from '../sso-client-config.ts'

const { list, create, read, update, ...rest } = recordSignatures({
  noun: 'SSO client config',
  plural: 'ssoClientConfigs',
  path: '/sso-client-configs',
  see: ['ROLE_MANAGE_SSO_CLIENT_CONFIG'],
  manage: ['ROLE_MANAGE_SSO_CLIENT_CONFIG'],
  resource: SsoClientConfig,
  body: SsoClientConfigBody,
})

const kept =
  'A body without clientSecret, or with null, keeps the stored one. An empty text clears it, which makes the application a public one.'

export const ssoClientConfigs = {
  list,
  create,
  read,
  update: signature({ ...update, description: kept }),
  updateForClient: signature({
    ...update,
    id: 'ssoClientConfigs.updateForClient',
    summary: 'Replace the SSO client config of a client',
    description: `${kept} \`clientId\` is the client that the application belongs to.`,
    path: '/clients/:clientId/sso-client-configs/:uid',
  }),
  delete: rest.delete,
}
