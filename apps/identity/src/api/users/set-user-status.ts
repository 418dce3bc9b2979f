import type { UserStatusBody } from '@sluice/contracts'
import { problems } from '@sluice/http'
import { removeApiTokensOfUser } from '../../sign-in/api-tokens.ts'
import { endSessionsOfUser } from '../../sign-in/sessions.ts'
import { canAdminister, keepingASuperAdmin } from './super-admins.ts'
import type { Asked } from '../operation.ts'
import { auditedOf } from './columns.ts'
import { userRecords } from './records.ts'
import type { UserRow } from './row.ts'
import { demandPowerOver, demandSomebodyElse } from './rules.ts'

/** Shuts a user out, with whatever they have open, or lets them in again: whoever has a way to sign in. */
export async function setUserStatus(
  uid: string,
  { status }: UserStatusBody,
  { write, caller, request }: Asked,
): Promise<UserRow> {
  return write(async (trx) => {
    const before = await userRecords.lock(trx, caller, uid, request.ifMatch)
    demandPowerOver(caller, before)
    if (status === 'ACTIVE') demandWayIn(before)
    else demandSomebodyElse(caller, before, '/status', 'deactivate')
    const change = () => userRecords.update(trx, caller, before, { status })
    const losesPower = status === 'INACTIVE' && canAdminister(before)
    const after = losesPower ? await keepingASuperAdmin(trx, '/status', change) : await change()
    if (status === 'INACTIVE') {
      await endSessionsOfUser(trx, before.id)
      await removeApiTokensOfUser(trx, before.id)
    }
    request.audit(before.uid, { before: auditedOf(before), after: auditedOf(after) })
    return after
  })
}

function demandWayIn({ password_hash, sso_auth }: UserRow): void {
  if (password_hash === null && !sso_auth)
    throw problems.refused(
      '/status',
      'This user has no way to sign in yet: send them an invitation, with POST /users/{uid}/invite.',
    )
}
