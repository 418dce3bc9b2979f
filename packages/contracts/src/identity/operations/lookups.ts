import { listOf } from '../../contract.ts'
import { signature } from '../../operation.ts'
import { ClientSummary, Credential, DeletedClientSummary, LookupBody, PrincipalState, UserSummary } from '../lookups.ts'
import { UserGroupSummary } from '../user.ts'

/** The pipeline service calls these operations. Users cannot: the guard is the shared secret of the services. */
export const lookups = {
  standing: signature({
    id: 'lookups.standing',
    summary: 'Who comes with a credential, and what they may do now',
    method: 'post',
    path: '/lookups/standing',
    guard: 'service',
    effect: 'read',
    body: Credential,
    response: PrincipalState,
  }),
  users: signature({
    id: 'lookups.users',
    summary: 'Names of users and applications',
    method: 'post',
    path: '/lookups/users',
    guard: 'service',
    effect: 'read',
    body: LookupBody,
    response: listOf(UserSummary),
  }),
  userGroups: signature({
    id: 'lookups.userGroups',
    summary: 'Names of user groups',
    method: 'post',
    path: '/lookups/user-groups',
    guard: 'service',
    effect: 'read',
    body: LookupBody,
    response: listOf(UserGroupSummary),
  }),
  clients: signature({
    id: 'lookups.clients',
    summary: 'Clients by id',
    method: 'post',
    path: '/lookups/clients',
    guard: 'service',
    effect: 'read',
    body: LookupBody,
    response: listOf(ClientSummary),
  }),
  datasetPublishers: signature({
    id: 'lookups.datasetPublishers',
    summary: 'Let these clients publish public datasets, as they did before it took a domain',
    method: 'put',
    path: '/lookups/dataset-publishers',
    guard: 'service',
    body: LookupBody,
  }),
  deletedClients: signature({
    id: 'lookups.deletedClients',
    summary: 'Which of these clients were deleted, and when',
    method: 'post',
    path: '/lookups/deleted-clients',
    guard: 'service',
    effect: 'read',
    body: LookupBody,
    response: listOf(DeletedClientSummary),
  }),
}
