import { sql } from 'kysely'
import type { AcceptInvitationBody } from '@sluice/contracts'
import { problems } from '@sluice/http'
import { consumeLink, findLink, linkEnded, type FoundLink } from '../../sign-in/links.ts'
import { checkPassword, hashPassword } from '../../sign-in/password.ts'
import type { LinkContext } from './link-context.ts'

/**
 * Makes whom an invitation is for ACTIVE, with the password that they choose; with single sign-on, without one. They then
 * sign in as everybody does. 422 at `/token` for a link that does not work, at `/password` for a password that will not do.
 */
export async function acceptInvitation(
  { token, password }: AcceptInvitationBody,
  { db, write, request }: LinkContext,
): Promise<void> {
  const found = await findLink(db, token, 'INVITATION')
  if (!found) throw linkEnded()
  const hash = await chosen(password, found.user)

  await write(async (trx) => {
    const user = await consumeLink(trx, token, 'INVITATION')
    if (user === undefined) throw linkEnded()
    // With the way of signing in that was found, in case it changed meanwhile.
    const { rows } = await sql`
      update users set status = 'ACTIVE', password_hash = ${hash}, version = version + 1, updated_at = now(), updated_by = uid
      where id = ${user} and sso_auth = ${hash === null} returning id`.execute(trx)
    if (rows.length === 0) throw linkEnded()
    request.audit(found.user.uid, { before: { status: 'INVITATION' }, after: { status: 'ACTIVE' } }, by(found.user))
  })
}

/** The hash of the password. Null: single sign-on needs none. */
async function chosen(password: string | undefined, user: FoundLink['user']): Promise<string | null> {
  if (user.ssoAuth) {
    if (password === undefined) return null
    throw problems.refused(
      '/password',
      'You sign in the way your organisation does elsewhere, without a password here.',
    )
  }
  if (password === undefined) throw problems.refused('/password', 'Choose a password.')
  checkPassword(password, user)
  return hashPassword(password)
}

const by = ({ uid, client }: { uid: string; client: string }) => ({ user: uid, client })
