import { listOf } from '../../contract.ts'
import { signature } from '../../operation.ts'
import { recordSignatures } from '../../record-signatures.ts'
import { ListQuery } from '../../search.ts'
import { UserGroup, UserGroupBody } from '../user-group.ts'
import { User } from '../user.ts'

const roles = ['ROLE_MANAGE_USER_GROUP'] as const

const membership = { path: '/user-groups/:uid/users/:userUid', guard: roles } as const

export const userGroups = {
  ...recordSignatures({
    noun: 'user group',
    plural: 'userGroups',
    path: '/user-groups',
    see: roles,
    manage: roles,
    resource: UserGroup,
    body: UserGroupBody,
  }),
  listMembers: signature({
    id: 'userGroups.listMembers',
    summary: 'List the users in a user group',
    method: 'get',
    path: '/user-groups/:uid/users',
    guard: roles,
    query: ListQuery,
    response: listOf(User),
    paged: true,
  }),
  addMember: signature({
    id: 'userGroups.addMember',
    summary: 'Put a user into a user group',
    description:
      'A user of the same client. Who is in a group reaches the data that is shared with it, so nobody but a super admin adds themself, nor anyone who holds a role that they lack. Adding a member again changes nothing.',
    method: 'put',
    ...membership,
  }),
  removeMember: signature({
    id: 'userGroups.removeMember',
    summary: 'Take a user out of a user group',
    description: 'Anyone may take themself out. Who is no member stays none.',
    method: 'delete',
    ...membership,
  }),
}
