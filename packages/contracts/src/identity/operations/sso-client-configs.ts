import { defineSignature } from '../../operation-signature.ts'
import { defineRecordSignatures } from '../../crud-operation-signatures.ts'
import { AllowedApplication, SsoClientConfig, SsoClientConfigBody } from '../sso-client-config.ts'
import { listOf } from '../../contract.ts'

const { list, create, read, update, ...rest } = defineRecordSignatures({
  noun: 'SSO client config',
  plural: 'ssoClientConfigs',
  path: '/sso-client-configs',
  see: ['ROLE_MANAGE_SSO_CLIENT_CONFIG'],
  manage: ['ROLE_MANAGE_SSO_CLIENT_CONFIG'],
  resource: SsoClientConfig,
  body: SsoClientConfigBody,
})

const keptSecretNote =
  'An absent or null clientSecret keeps the stored secret. An empty text deletes the secret, which makes the application a public client.'

export const ssoClientConfigs = {
  list,
  create,
  read,
  update: defineSignature({ ...update, description: keptSecretNote }),
  updateForClient: defineSignature({
    ...update,
    id: 'ssoClientConfigs.updateForClient',
    summary: 'Replace the SSO client config of a client',
    description: `${keptSecretNote} \`clientId\` is the client that the application belongs to.`,
    path: '/clients/:clientId/sso-client-configs/:uid',
  }),
  delete: rest.delete,
}

/** Operations on the applications to which a user has given access. */
export const allowedApplications = {
  list: defineSignature({
    id: 'allowedApplications.list',
    summary: 'List the applications that you allowed to act for you',
    method: 'get',
    path: '/users/me/applications',
    guard: 'in-person',
    response: listOf(AllowedApplication),
  }),
  delete: defineSignature({
    id: 'allowedApplications.delete',
    summary: 'Revoke the access of an application',
    description:
      'The identity service rejects the tokens of the application immediately, the pipeline service within ten seconds. The next sign-in asks for your consent again.',
    method: 'delete',
    path: '/users/me/applications/:uid',
    guard: 'in-person',
  }),
}
