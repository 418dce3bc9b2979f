import { identityOperations, toSearchRequest } from '@sluice/contracts'
import { defineIdentityOperation } from '../operation-context.ts'
import { clientRecords } from './records.ts'
import { updateClientProfile, createClient, deleteClient, updateClient } from './write.ts'

const { clients } = identityOperations

export const clientOperations = {
  list: defineIdentityOperation(clients.list, (input) =>
    clientRecords.search(input.db, input, toSearchRequest(input.query), input.request.url),
  ),

  search: defineIdentityOperation(clients.search, (input) => clientRecords.search(input.db, input, input.body)),

  create: defineIdentityOperation(clients.create, async (input) =>
    clientRecords.created(await createClient(input.body, input), input),
  ),

  read: defineIdentityOperation(clients.read, async (input) =>
    clientRecords.answer(await clientRecords.read(input.db, input.caller, input.params.uid), input),
  ),

  update: defineIdentityOperation(clients.update, async (input) =>
    clientRecords.answer(await updateClient(input.params.uid, input.body, input), input),
  ),

  updateProfile: defineIdentityOperation(clients.updateProfile, async (input) =>
    clientRecords.answer(await updateClientProfile(input.params.uid, input.body, input), input),
  ),

  delete: defineIdentityOperation(clients.delete, async (input) => {
    await deleteClient(input.params.uid, input)
    return undefined
  }),
}
