import { clientBody } from '../app-under-test.ts'
import type { ValidRequests, Stage } from './valid-requests.ts'

export const clientRequests = ({ service }: Stage): ValidRequests => ({
  'clients.list': async () => ({ query: '?pageSize=5' }),
  'clients.search': async () => ({ body: { paging: {} } }),
  'clients.create': async () => ({ body: clientBody({ routeNotificationEmailAddresses: 'a@example.org' }) }),
  'clients.read': async () => ({ uid: await service.client() }),
  'clients.update': async () => ({ uid: await service.client(), body: clientBody() }),
  'clients.updateProfile': async () => {
    const body = clientBody()
    return { uid: await service.client(body), body: { ...body, primaryContact: { name: 'Grace' } } }
  },
  'clients.delete': async () => ({ uid: await service.client({ disabled: true }) }),
})
