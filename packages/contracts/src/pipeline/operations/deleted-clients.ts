import { listOf } from '../../contract.ts'
import { defineSignature } from '../../operation-signature.ts'
import { DeletedClient } from '../deleted-client.ts'

const superAdmin = ['ROLE_SUPER_ADMIN'] as const

/** Operations on the data that is still stored for deleted organisations. */
export const deletedClientSignatures = {
  list: defineSignature({
    id: 'deletedClients.list',
    summary: 'List deleted clients with stored data',
    description: 'Users cannot reach this data. Maintenance erases it 30 days after the deletion.',
    method: 'get',
    path: '/deleted-clients',
    guard: superAdmin,
    response: listOf(DeletedClient),
  }),
  erase: defineSignature({
    id: 'deletedClients.erase',
    summary: 'Erase the data of a deleted client',
    description:
      'Immediately and permanently erases the warehouses, files, runs, settings and objects of the client. The audit log and public datasets stay. If the warehouse does not respond, the other data is not erased; send the request again.',
    method: 'delete',
    path: '/deleted-clients/:uid',
    guard: superAdmin,
    inPerson: true,
  }),
}
