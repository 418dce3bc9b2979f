import { identityOperations, searchOf } from '@sluice/contracts'
import { operation } from '../operation-context.ts'
import { clientRecords } from './records.ts'
import { updateClientProfile, createClient, deleteClient, updateClient } from './write.ts'

const { clients } = identityOperations

export const clientOperations = {
  list: operation(clients.list, (input) =>
    clientRecords.search(input.db, input, searchOf(input.query), input.request.url),
  ),

  search: operation(clients.search, (input) => clientRecords.search(input.db, input, input.body)),

  create: operation(clients.create, async (input) =>
    clientRecords.created(await createClient(input.body, input), input),
  ),

  read: operation(clients.read, async (input) =>
    clientRecords.answer(await clientRecords.read(input.db, input.caller, input.params.uid), input),
  ),

  update: operation(clients.update, async (input) =>
    clientRecords.answer(await updateClient(input.params.uid, input.body, input), input),
  ),

  updateProfile: operation(clients.updateProfile, async (input) =>
    clientRecords.answer(await updateClientProfile(input.params.uid, input.body, input), input),
  ),

  delete: operation(clients.delete, async (input) => {
    await deleteClient(input.params.uid, input)
    return undefined
  }),
}
