import type { Asked } from '../operation.ts'
import { canAdminister, keepingASuperAdmin } from './super-admins.ts'
import { auditedOf } from './columns.ts'
import { auditedGroups, groupsOf } from './groups.ts'
import { userRecords } from './records.ts'
import { demandPowerOver, demandSomebodyElse } from './rules.ts'

/** Removes a user with whatever they have open. What they made stays, without their name. */
export async function deleteUser(uid: string, { write, caller, request }: Asked): Promise<void> {
  await write(async (trx) => {
    const before = await userRecords.lock(trx, caller, uid, request.ifMatch)
    demandPowerOver(caller, before)
    demandSomebodyElse(caller, before, '/', 'delete')
    const left = await groupsOf(trx, before)
    const change = () => userRecords.remove(trx, before)
    await (canAdminister(before) ? keepingASuperAdmin(trx, '/', change) : change())
    request.audit(before.uid, { before: auditedOf(before), ...auditedGroups({ joined: [], left }) })
  })
}
