import { identityOperations, searchOf } from '@sluice/contracts'
import { operation } from '../operation.ts'
import { readMail } from './read-mail.ts'
import { mailRecords } from './records.ts'

const { mails } = identityOperations

export const mailOperations = {
  /** The newest first, where no other order is asked for. */
  list: operation(mails.list, (input) => {
    const search = searchOf(input.query)
    const order = search.order?.length ? search.order : ['created:desc']
    return mailRecords.search(input.db, input, { ...search, order }, input.request.url)
  }),

  read: operation(mails.read, (input) => readMail(input.params.uid, input)),
}
