import { type ReadMail, identityOperations, toSearchRequest } from '@sluice/contracts'
import { type IdentityRequestContext, defineIdentityOperation } from '../operation-context.ts'
import { type MailRow, mailRecords, listRecipients } from './records.ts'
import { recordAudit } from '@sluice/database'
import { problems } from '@sluice/http-server'
import { openMailBody } from '../../email/outbox.ts'
import { assertMayManageUser } from '../users/user-management-rules.ts'

const { mails } = identityOperations

export const mailOperations = {
  /** Lists mails, newest first by default. */
  list: defineIdentityOperation(mails.list, (input) => {
    const search = toSearchRequest(input.query)
    const order = search.order?.length ? search.order : ['created:desc']
    return mailRecords.search(input.db, input, { ...search, order }, input.request.url)
  }),

  read: defineIdentityOperation(mails.read, (input) => readMail(input.params.uid, input)),
}

/**
 * Returns a mail. In an installation without a mail server, administrators hand mails over themselves, so the response
 * includes the body. Throws 403 unless the caller may manage the recipient, because a link in the body gives access to
 * the recipient's account.
 */
async function readMail(uid: string, input: IdentityRequestContext): Promise<ReadMail> {
  const { db, caller, config } = input
  const row = await mailRecords.read(db, caller, uid)
  const [mail] = await mailRecords.definition.present([row], input)
  if (row.state !== 'KEPT' || row.body === null) return mail!
  await assertMayReadMailBody(row, input)
  await auditMailRead(row, input)
  return { ...mail!, text: openMailBody(config, row.uid, row.body).text }
}

async function assertMayReadMailBody(row: MailRow, { db, caller }: IdentityRequestContext): Promise<void> {
  const [recipient] = await listRecipients([row], db)
  if (!recipient) throw problems.notFound('mail')
  assertMayManageUser(caller, recipient)
  // Otherwise an attacker at an unattended session could set a new password with a link in the user's own mail.
  if (recipient.uid === caller.uid)
    throw problems.forbidden('You cannot read your own mail here. Ask another administrator.')
}

/**
 * Writes an audit row for a caller who reads a mail. Other read operations are not audited, but a mail can contain a
 * link that gives access to an account.
 */
async function auditMailRead(
  { uid, user_id, kind, recipient }: MailRow,
  { db, caller, request }: IdentityRequestContext,
): Promise<void> {
  await recordAudit(db, {
    operation: 'mails.read',
    actor: caller.uid,
    client: caller.client,
    object: uid,
    requestId: request.id,
    address: request.address,
    details: { kind, recipient, user: user_id },
  })
}
