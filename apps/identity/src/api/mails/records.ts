import { type Selectable, sql } from 'kysely'
import { type MailSummary, type MailKind, mailKinds, type MailState, mailStates, type Role } from '@sluice/contracts'
import { createRecordRepository, type RefinedRow } from '@sluice/records'
import type { Mails } from '../../database.ts'
import { scopeToClient } from '../clients/records.ts'
import type { IdentityRequestContext } from '../operation-context.ts'

type StoredMail = RefinedRow<Selectable<Mails>, { kind: MailKind; state: MailState }>

/** Mails are never edited, so they have no version. */
export interface MailRow extends StoredMail {
  version: never
}

interface MailRecipient {
  id: number
  uid: string
  username: string
  roles: Role[]
}

const selectFromUser = (column: 'uid' | 'username') =>
  sql`select users.${sql.ref(column)} from users where users.id = r.user_id`

export const mailRecords = createRecordRepository<MailRow, MailSummary, IdentityRequestContext>({
  noun: 'mail',
  table: 'mails',
  path: '/mails',
  properties: {
    id: { column: 'r.uid', type: 'uid', required: true },
    // The list endpoint sorts by the property `name` by default.
    name: { column: 'r.subject', type: 'string', required: true },
    subject: { column: 'r.subject', type: 'string', required: true },
    recipient: { column: 'r.recipient', type: 'string', required: true },
    kind: { column: 'r.kind', type: 'enum', required: true, values: mailKinds },
    state: { column: 'r.state', type: 'enum', required: true, values: mailStates },
    created: { column: 'r.created_at', type: 'date-time', required: true },
    finished: { column: 'r.finished_at', type: 'date-time' },
    'user.id': { column: selectFromUser('uid'), type: 'uid' },
    'user.username': { column: selectFromUser('username'), type: 'string' },
  },
  matches: (like) => sql`(r.recipient ilike ${like} or r.subject ilike ${like})`,
  scope: scopeToClient,
  present: (rows, { db }) => presentMails(rows, db),
})

async function presentMails(rows: MailRow[], db: IdentityRequestContext['db']): Promise<MailSummary[]> {
  const recipients = new Map((await listRecipients(rows, db)).map((user) => [user.id, user]))
  return rows.map((row) => presentMail(row, recipients.get(row.user_id)!))
}

export async function listRecipients(
  rows: readonly MailRow[],
  db: IdentityRequestContext['db'],
): Promise<MailRecipient[]> {
  const ids = [...new Set(rows.map(({ user_id }) => user_id))]
  const { rows: users } = await sql<MailRecipient>`
    select id, uid, username, roles from users where id = any(${ids})`.execute(db)
  return users
}

/** Converts a mail to a resource without its body. */
const presentMail = (row: MailRow, { uid, username }: MailRecipient): MailSummary => ({
  id: row.uid,
  created: row.created_at.toISOString(),
  client: row.client,
  user: { id: uid, username },
  kind: row.kind,
  recipient: row.recipient,
  subject: row.subject,
  state: row.state,
  reason: row.reason ?? undefined,
  attempts: row.attempts,
  finished: row.finished_at?.toISOString(),
})
