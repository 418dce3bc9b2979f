import { listOf } from '../../contract.ts'
import { defineSignature } from '../../operation-signature.ts'
import { defineRecordSignatures } from '../../crud-operation-signatures.ts'
import { ListQuery } from '../../search.ts'
import { UserGroup, UserGroupBody } from '../user-group.ts'
import { User } from '../user.ts'

const groupManagerRoles = ['ROLE_MANAGE_USER_GROUP'] as const

const membershipRoute = { path: '/user-groups/:uid/users/:userUid', guard: groupManagerRoles } as const

export const userGroups = {
  ...defineRecordSignatures({
    noun: 'user group',
    plural: 'userGroups',
    path: '/user-groups',
    see: groupManagerRoles,
    manage: groupManagerRoles,
    resource: UserGroup,
    body: UserGroupBody,
  }),
  listMembers: defineSignature({
    id: 'userGroups.listMembers',
    summary: 'List the users in a user group',
    method: 'get',
    path: '/user-groups/:uid/users',
    guard: groupManagerRoles,
    query: ListQuery,
    response: listOf(User),
    paged: true,
  }),
  addMember: defineSignature({
    id: 'userGroups.addMember',
    summary: 'Add a user to a user group',
    description:
      'The user must belong to the same client. Members get access to all data that is shared with the group, so only super admins can add themselves or users with roles that the caller lacks. Adding a member again changes nothing.',
    method: 'put',
    ...membershipRoute,
  }),
  removeMember: defineSignature({
    id: 'userGroups.removeMember',
    summary: 'Remove a user from a user group',
    description: 'Users can remove themselves. Removing a user who is not a member changes nothing.',
    method: 'delete',
    ...membershipRoute,
  }),
}
