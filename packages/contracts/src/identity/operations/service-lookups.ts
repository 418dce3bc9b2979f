import { listOf } from '../../contract.ts'
import { defineSignature } from '../../operation-signature.ts'
import {
  ClientSummary,
  Credential,
  DeletedClientSummary,
  LookupBody,
  PrincipalState,
  UserSummary,
} from '../service-lookups.ts'
import { UserGroupSummary } from '../user.ts'

/** The pipeline service calls these operations with the shared secret of the services. Users cannot call them. */
export const lookupSignatures = {
  standing: defineSignature({
    id: 'lookups.standing',
    summary: 'Read the principal of a credential and its current permissions',
    method: 'post',
    path: '/lookups/standing',
    guard: 'service',
    effect: 'read',
    body: Credential,
    response: PrincipalState,
  }),
  users: defineSignature({
    id: 'lookups.users',
    summary: 'List the names of users and applications',
    method: 'post',
    path: '/lookups/users',
    guard: 'service',
    effect: 'read',
    body: LookupBody,
    response: listOf(UserSummary),
  }),
  userGroups: defineSignature({
    id: 'lookups.userGroups',
    summary: 'List the names of user groups',
    method: 'post',
    path: '/lookups/user-groups',
    guard: 'service',
    effect: 'read',
    body: LookupBody,
    response: listOf(UserGroupSummary),
  }),
  clients: defineSignature({
    id: 'lookups.clients',
    summary: 'List clients by id',
    method: 'post',
    path: '/lookups/clients',
    guard: 'service',
    effect: 'read',
    body: LookupBody,
    response: listOf(ClientSummary),
  }),
  datasetPublishers: defineSignature({
    id: 'lookups.datasetPublishers',
    summary: 'Grant these clients the domain that publishing public datasets requires',
    method: 'put',
    path: '/lookups/dataset-publishers',
    guard: 'service',
    body: LookupBody,
  }),
  deletedClients: defineSignature({
    id: 'lookups.deletedClients',
    summary: 'List which of these clients are deleted, with the times of deletion',
    method: 'post',
    path: '/lookups/deleted-clients',
    guard: 'service',
    effect: 'read',
    body: LookupBody,
    response: listOf(DeletedClientSummary),
  }),
}
