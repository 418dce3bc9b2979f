import { identityOperations, searchOf } from '@sluice/contracts'
import { operation } from '../operation.ts'
import { createUser } from './create-user.ts'
import { deleteUser } from './delete-user.ts'
import { userRecords, usersWhere } from './records.ts'
import { setUserStatus } from './set-user-status.ts'
import { updateUser } from './update-user.ts'

const { users } = identityOperations

export const userOperations = {
  // Before `read`, whose path would take "me" for an id.
  me: operation(users.me, async (input) =>
    userRecords.answer(await userRecords.read(input.db, input.caller, input.caller.uid), input),
  ),

  list: operation(users.list, (input) => {
    const { analyticsPlatform, ...query } = input.query
    return usersWhere({ analyticsPlatform }).search(input.db, input, searchOf(query), input.request.url)
  }),

  search: operation(users.search, (input) => {
    const { analyticsPlatform, ...request } = input.body
    return usersWhere({ analyticsPlatform }).search(input.db, input, request)
  }),

  create: operation(users.create, async (input) => userRecords.created(await createUser(input.body, input), input)),

  read: operation(users.read, async (input) =>
    userRecords.answer(await userRecords.read(input.db, input.caller, input.params.uid), input),
  ),

  update: operation(users.update, (input) => updateUser(input.params.uid, input.body, input)),

  setStatus: operation(users.setStatus, async (input) =>
    userRecords.answer(await setUserStatus(input.params.uid, input.body, input), input),
  ),

  delete: operation(users.delete, async (input) => {
    await deleteUser(input.params.uid, input)
    return undefined
  }),
}
