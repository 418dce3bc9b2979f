import { listOf } from '../../contract.ts'
import { signature } from '../../operation.ts'
import { DeletedClient } from '../deleted-client.ts'

const guard = ['ROLE_SUPER_ADMIN'] as const

/** Operations on the remaining data of deleted organisations. */
export const deletedClientSignatures = {
  list: signature({
    id: 'deletedClients.list',
    summary: 'List deleted clients of which data is held',
    description: 'Nobody can reach that data any more. Maintenance erases it 30 days after the deletion.',
    method: 'get',
    path: '/deleted-clients',
    guard,
    response: listOf(DeletedClient),
  }),
  erase: signature({
    id: 'deletedClients.erase',
    summary: 'Erase what is held of a deleted client',
    description:
      'At once and for good: its warehouses, files, runs, settings and everything that it made. The audit and public datasets stay. When the warehouse does not answer, nothing else is erased: send it again.',
    method: 'delete',
    path: '/deleted-clients/:uid',
    guard,
    inPerson: true,
  }),
}
