import { listOf } from '../../contract.ts'
import { signature } from '../../operation.ts'
import { ListQuery } from '../../search.ts'
import { Mail, ReadMail } from '../mail.ts'

const guard = ['ROLE_MANAGE_USER'] as const

/** The outbox: mails to users of the last 30 days, including mails that could not be sent. */
export const mails = {
  list: signature({
    id: 'mails.list',
    summary: 'List mails to users',
    method: 'get',
    path: '/mails',
    guard,
    query: ListQuery,
    response: listOf(Mail),
    paged: true,
  }),
  read: signature({
    id: 'mails.read',
    summary: 'Read a mail',
    description:
      'Without a mail server, the response contains the text for readers who hold every role of the recipient.',
    method: 'get',
    path: '/mails/:uid',
    guard,
    // Every reader of the email could use its link.
    inPerson: true,
    response: ReadMail,
  }),
}
