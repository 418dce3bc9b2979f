import { insertUserGroup, userGroupBody } from '../user-group-fixtures.ts'
import type { ValidRequests, Stage } from './valid-requests.ts'

export const userGroupRequests = ({ service, admin }: Stage): ValidRequests => {
  const group = () => insertUserGroup(service.db, admin.client)
  const membership = async () => ({
    uid: await group(),
    params: { userUid: (await service.user({ client: admin.client })).uid },
  })
  return {
    'userGroups.list': async () => ({ query: '?order=code:desc' }),
    'userGroups.search': async () => ({ body: { query: 'team', paging: {} } }),
    'userGroups.create': async () => ({ body: userGroupBody({ description: 'Who counts.' }) }),
    'userGroups.read': async () => ({ uid: await group() }),
    'userGroups.update': async () => ({ uid: await group(), body: userGroupBody() }),
    'userGroups.delete': async () => ({ uid: await group() }),
    'userGroups.listMembers': async () => ({ uid: await group(), query: '?filter=status:eq:ACTIVE' }),
    'userGroups.addMember': membership,
    'userGroups.removeMember': membership,
  }
}
