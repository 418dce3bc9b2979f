import { listOf } from '../../contract.ts'
import { defineSignature } from '../../operation-signature.ts'
import { ListQuery } from '../../search.ts'
import { MailSummary, ReadMail } from '../mail.ts'

const manageUsers = ['ROLE_MANAGE_USER'] as const

/** Operations on the emails to users of the last 30 days, including emails that could not be sent. */
export const mailSignatures = {
  list: defineSignature({
    id: 'mails.list',
    summary: 'List emails to users',
    method: 'get',
    path: '/mails',
    guard: manageUsers,
    query: ListQuery,
    response: listOf(MailSummary),
    paged: true,
  }),
  read: defineSignature({
    id: 'mails.read',
    summary: 'Read an email',
    description:
      'If no mail server is configured, the response contains the text of the email for callers who hold every role of the recipient.',
    method: 'get',
    path: '/mails/:uid',
    guard: manageUsers,
    // A reader of the email can use the link in it, so the caller must have signed in directly.
    inPerson: true,
    response: ReadMail,
  }),
}
