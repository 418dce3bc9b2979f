import { applicationBody } from '../application-body.ts'
import type { ValidRequests, Stage } from './valid-requests.ts'

export const ssoClientConfigRequests = ({ admin }: Stage): ValidRequests => {
  const createConfig = async () => {
    const { body } = await admin.post('/sso-client-configs').send(applicationBody()).expect(201)
    return { uid: body.id as string, params: { clientId: body.client.id as string } }
  }
  return {
    'ssoClientConfigs.list': async () => ({ query: '?order=clientName:iasc' }),
    'ssoClientConfigs.create': async () => ({ body: applicationBody() }),
    'ssoClientConfigs.read': createConfig,
    'ssoClientConfigs.update': async () => ({ ...(await createConfig()), body: applicationBody() }),
    'ssoClientConfigs.updateForClient': async () => ({ ...(await createConfig()), body: applicationBody() }),
    'ssoClientConfigs.delete': createConfig,
  }
}
