import { randomUUID } from 'node:crypto'
import { decodeJwt } from 'jose'
import type { ValidRequests, Stage } from './valid-requests.ts'

export const lookupRequests = ({ service, admin }: Stage): ValidRequests => ({
  'lookups.standing': async () => {
    const { tokens, uid } = await service.as(['ROLE_SEE_VIEW'])
    return { body: { kind: 'session', id: uid, session: decodeJwt(tokens.accessToken).sid } }
  },
  'lookups.users': async () => ({ body: { ids: [admin.uid, randomUUID()] } }),
  'lookups.userGroups': async () => ({ body: { ids: [randomUUID()] } }),
  'lookups.principals': async () => ({
    body: { client: admin.client, usernames: ['admin', 'nobody'], userGroupCodes: ['none'] },
  }),
  'lookups.datasetPublishers': async () => ({ body: { ids: [await service.client()] }, by: service.service() }),
  'lookups.deletedClients': async () => ({ body: { ids: [randomUUID()] } }),
  'lookups.clients': async () => ({ body: { ids: [admin.client] } }),
})
