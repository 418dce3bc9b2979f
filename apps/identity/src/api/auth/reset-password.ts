import { sql } from 'kysely'
import type { ResetPasswordBody } from '@sluice/contracts'
import { mailPasswordChanged } from '../../mail/notices.ts'
import { consumeLink, endLinks, findLink, linkEnded } from '../../sign-in/links.ts'
import { checkPassword, hashPassword } from '../../sign-in/password.ts'
import { endSessionsOfUser } from '../../sign-in/sessions.ts'
import type { LinkContext } from './link-context.ts'

/**
 * Gives whom a link is for the password that they choose, ends whatever they had open, and tells them by mail. 422 at
 * `/token` for a link that does not work, at `/password` for a password that will not do.
 */
export async function resetPassword(
  { token, password }: ResetPasswordBody,
  { db, write, config, request }: LinkContext,
): Promise<void> {
  const found = await findLink(db, token, 'PASSWORD_RESET')
  if (!found) throw linkEnded()
  checkPassword(password, found.user)
  const hash = await hashPassword(password)

  await write(async (trx) => {
    const user = await consumeLink(trx, token, 'PASSWORD_RESET')
    if (user === undefined) throw linkEnded()
    await sql`
      update users set password_hash = ${hash}, version = version + 1, updated_at = now(), updated_by = uid
      where id = ${user}`.execute(trx)
    await endSessionsOfUser(trx, user)
    await endLinks(trx, user)
    await mailPasswordChanged(trx, config, { id: user })
    const { uid, client } = found.user
    request.audit(uid, { outcome: 'password chosen by link' }, { user: uid, client })
  })
}
