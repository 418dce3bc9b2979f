import { identityOperations } from '@sluice/contracts'
import { recordOperations } from '@sluice/records'
import { operation } from '../operation.ts'
import { addMember, listMembers, removeMember } from './members.ts'
import { userGroupRecords } from './records.ts'
import { userGroupWriting } from './write.ts'

const { userGroups } = identityOperations

export const userGroupOperations = {
  ...recordOperations(userGroups, { operation, records: userGroupRecords, writing: userGroupWriting }),
  listMembers: operation(userGroups.listMembers, (input) => listMembers(input.params.uid, input.query, input)),
  addMember: operation(userGroups.addMember, (input) => addMember(input.params, input)),
  removeMember: operation(userGroups.removeMember, (input) => removeMember(input.params, input)),
}
