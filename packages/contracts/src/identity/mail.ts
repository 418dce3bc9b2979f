import { Type } from 'typebox'
import { noUnknownFields, defineContract, type TypeOf } from '../contract.ts'
import { SingleLineText, Timestamp, Uid } from '../field-types.ts'

export const mailKinds = [
  'INVITATION',
  'PASSWORD_RESET',
  'PASSWORD_CHANGED',
  'EMAIL_CHANGED',
  'SECOND_FACTOR_CHANGED',
] as const
export type MailKind = (typeof mailKinds)[number]

/**
 * The states of an email. QUEUED: the service retries until it is SENT. FAILED: a day has passed, or the link in the
 * email has expired. KEPT: no SMTP server is configured, so the email is only stored.
 */
export const mailStates = ['QUEUED', 'SENT', 'FAILED', 'KEPT'] as const
export type MailState = (typeof mailStates)[number]

const mailFields = {
  id: Uid,
  created: Timestamp,
  client: Uid,
  user: Type.Object({ id: Uid, username: SingleLineText }, noUnknownFields),
  kind: Type.Enum([...mailKinds]),
  recipient: SingleLineText,
  subject: SingleLineText,
  state: Type.Enum([...mailStates]),
  /** The reason why the last attempt failed, or why the service stopped retrying. */
  reason: Type.Optional(Type.String({ maxLength: 1000 })),
  attempts: Type.Integer({ minimum: 0, maximum: 100_000 }),
  /** The time at which the mail was sent, or at which the service stopped retrying. */
  finished: Type.Optional(Timestamp),
}

/** An email to a user, without its text. */
export const MailSummary = defineContract('Mail', Type.Object(mailFields, noUnknownFields))
export type MailSummary = TypeOf<typeof MailSummary>

/** An email to a user. Its text is only included if no SMTP server is configured. */
export const ReadMail = defineContract(
  'ReadMail',
  Type.Object({ ...mailFields, text: Type.Optional(Type.String({ maxLength: 20_000 })) }, noUnknownFields),
)
export type ReadMail = TypeOf<typeof ReadMail>
