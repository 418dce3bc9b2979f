import { sql } from 'kysely'
import type { ChangePasswordBody } from '@sluice/contracts'
import { problems } from '@sluice/http'
import { mailPasswordChanged } from '../../mail/notices.ts'
import { endLinks } from '../../sign-in/links.ts'
import { checkPassword, hashPassword } from '../../sign-in/password.ts'
import { endOtherSessions } from '../../sign-in/sessions.ts'
import type { Asked } from '../operation.ts'
import { readOwnUser } from './own-user.ts'
import { proveByPassword } from './proof.ts'

/** Changes one's own password, ends whatever else one has open, and tells by mail. This session goes on. */
export async function changePassword(
  { currentPassword, newPassword }: ChangePasswordBody,
  input: Asked,
): Promise<void> {
  const { db, write, caller, config, request } = input
  const own = await readOwnUser(db, caller)
  checkPassword(newPassword, { ...own, clientName: own.client_name, clientCode: own.client_code }, '/newPassword')
  if (newPassword === currentPassword) throw problems.refused('/newPassword', 'This is the password that you have.')
  const proven = await proveByPassword(currentPassword, input, '/currentPassword')
  const hash = await hashPassword(newPassword)

  await write(async (trx) => {
    const user = await proven(trx)
    await sql`
      update users set password_hash = ${hash}, version = version + 1, updated_at = now(), updated_by = uid
      where id = ${user.id}`.execute(trx)
    const ended = await endOtherSessions(trx, user.id, caller.session)
    await endLinks(trx, user.id)
    await mailPasswordChanged(trx, config, user)
    request.audit(caller.uid, { outcome: 'password changed', ended })
  })
}
