import { allRoles } from '@sluice/contracts'
import { userBody } from '../app-under-test.ts'
import type { ValidRequests, Stage } from './valid-requests.ts'

export const userRequests = ({ service, admin }: Stage): ValidRequests => {
  const createUser = async () => (await service.user({ client: admin.client })).uid
  return {
    'users.me': async () => ({}),
    'users.list': async () => ({ query: '?order=name:iasc' }),
    'users.search': async () => ({ body: { query: 'test', paging: { total: false } } }),
    'users.create': async () => ({ body: userBody({ ssoAuth: true, auths: [...allRoles] }) }),
    'users.read': async () => ({ uid: await createUser() }),
    'users.update': async () => ({ uid: await createUser(), body: userBody() }),
    'users.setStatus': async () => ({ uid: await createUser(), body: { status: 'INACTIVE' } }),
    'users.delete': async () => ({ uid: await createUser() }),
  }
}
