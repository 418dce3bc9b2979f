import { sql } from 'kysely'
import type { ChangeEmailBody } from '@sluice/contracts'
import { problems } from '@sluice/http'
import { mailEmailChanged } from '../../mail/notices.ts'
import { endLinks } from '../../sign-in/links.ts'
import type { Asked } from '../operation.ts'
import { readOwnUser } from './own-user.ts'
import { prove } from './proof.ts'

/** Changes one's own mail address, and tells by mail to the old one. Links that went there work no more. */
export async function changeEmail({ email, ...proof }: ChangeEmailBody, input: Asked): Promise<void> {
  const { db, write, caller, config, request } = input
  const own = await readOwnUser(db, caller)
  if (own.sso_auth)
    throw problems.refused('/', 'You sign in through your organisation: an administrator changes your address.')
  if (email === own.email) throw problems.refused('/email', 'This is the address that you have.')
  const proven = await prove(proof, input)

  await write(async (trx) => {
    const before = await proven(trx)
    await sql`
      update users set email = ${email}, own_email_since = now(), version = version + 1, updated_at = now(), updated_by = uid
      where id = ${before.id}`.execute(trx)
    await endLinks(trx, before.id)
    await mailEmailChanged(trx, config, before)
    request.audit(caller.uid, { before: { email: before.email }, after: { email } })
  })
}
