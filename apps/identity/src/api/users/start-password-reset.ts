import { problems } from '@sluice/http'
import { assertMailAllowed } from '../../mail/allowance.ts'
import { mailPasswordReset } from '../../mail/notices.ts'
import { addLink } from '../../sign-in/links.ts'
import type { Asked } from '../operation.ts'
import { userRecords } from './records.ts'
import type { UserRow } from './row.ts'
import { demandPowerOver } from './rules.ts'

/** Mails a user a link to choose a new password. Their old one, and what they have open, goes on until they use it. */
export async function startPasswordReset(uid: string, { write, caller, config, request }: Asked): Promise<void> {
  await write(async (trx) => {
    const user = await userRecords.lock(trx, caller, uid, request.ifMatch)
    demandPowerOver(caller, user)
    demandResettable(user, caller.uid)
    await assertMailAllowed(trx, 'PASSWORD_RESET', user)
    await mailPasswordReset(trx, config, user, await addLink(trx, user, 'PASSWORD_RESET', config))
    request.audit(user.uid, { outcome: 'mailed' })
  })
}

function demandResettable({ uid, status, sso_auth }: UserRow, caller: string): void {
  // Where there is no mail server, it would be a password change without the password.
  if (uid === caller) throw problems.refused('/', 'Change your own password with PUT /users/me/password.')
  if (sso_auth) throw problems.refused('/', 'A user with single sign-on has no password here.')
  if (status === 'INVITATION') throw problems.refused('/', 'This user was invited: send the invitation again.')
  if (status === 'INACTIVE') throw problems.refused('/', 'This user is shut out: let them in first.')
}
