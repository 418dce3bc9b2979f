import type { SsoProviderConfigBody } from '@sluice/contracts'
import { startTestProvider, type TestProvider } from '../federated/identity-provider-stand-in.ts'
import { startSignIn, createClientAt, followRedirect, createSsoUser } from '../federated/federated-sign-in-setup.ts'
import type { ValidRequests, Stage } from './valid-requests.ts'

const body = (client: string): SsoProviderConfigBody => ({
  provider: 'GENERIC',
  clientDomain: 'sso.example.org',
  mappingClaim: 'sub',
  clientId: 'sluice',
  clientSecret: 'a secret',
  client: { id: client },
})

/** Requests for provider configs and federated sign-ins. */
export const ssoProviderConfigRequests = ({ service }: Stage): ValidRequests => {
  let started: Promise<TestProvider> | undefined
  const provider = () => (started ??= startTestProvider())
  const existing = async () => createClientAt(service, (await provider()).issuer)

  return {
    'ssoProviderConfigs.list': async () => ({ query: '?filter=provider:eq:GENERIC' }),
    'ssoProviderConfigs.create': async () => ({ body: body(await service.client()) }),
    'ssoProviderConfigs.read': async () => ({ uid: (await existing()).config }),
    'ssoProviderConfigs.update': async () => {
      const { client, config } = await existing()
      return { uid: config, body: body(client) }
    },
    'ssoProviderConfigs.updateForClient': async () => {
      const { client, config } = await existing()
      return { uid: config, params: { clientId: client }, body: body(client) }
    },
    'ssoProviderConfigs.delete': async () => ({ uid: (await existing()).config }),
    'ssoProviderConfigs.test': async () => ({ uid: (await existing()).config }),
    'auth.startSso': async () => ({ params: { clientCode: (await existing()).code } }),
    'auth.finishSso': async () => {
      const { client, code } = await existing()
      await createSsoUser(service, { client, ssoId: 'federated-user' })
      ;(await provider()).person = { sub: 'federated-user' }
      const { location, cookie } = await startSignIn(service, code)
      const get = (path: string) => service.http.get(`/api/v1${path}`).set('cookie', cookie)
      const { post, put, patch, delete: remove } = service.withToken('')
      return { query: new URL(await followRedirect(location)).search, by: { get, post, put, patch, delete: remove } }
    },
  }
}
