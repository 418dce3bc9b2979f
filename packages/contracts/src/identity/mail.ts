import { Type } from 'typebox'
import { closed, contract, type TypeOf } from '../contract.ts'
import { Line, Timestamp, Uid } from '../named.ts'

export const mailKinds = [
  'INVITATION',
  'PASSWORD_RESET',
  'PASSWORD_CHANGED',
  'EMAIL_CHANGED',
  'SECOND_FACTOR_CHANGED',
] as const
export type MailKind = (typeof mailKinds)[number]

/** QUEUED is retried until it is SENT or, after a day or when its link expires, FAILED. KEPT: no SMTP server is configured. */
export const mailStates = ['QUEUED', 'SENT', 'FAILED', 'KEPT'] as const
export type MailState = (typeof mailStates)[number]

const fields = {
  id: Uid,
  created: Timestamp,
  client: Uid,
  user: Type.Object({ id: Uid, username: Line }, closed),
  kind: Type.Enum([...mailKinds]),
  recipient: Line,
  subject: Line,
  state: Type.Enum([...mailStates]),
  /** Why the last attempt failed, or why the service gave up. */
  reason: Type.Optional(Type.String({ maxLength: 1000 })),
  attempts: Type.Integer({ minimum: 0, maximum: 100_000 }),
  /** When it was sent, or when the service gave up. */
  finished: Type.Optional(Timestamp),
}

/** A mail to a user, without its text. */
export const Mail = contract('Mail', Type.Object(fields, closed))
export type Mail = TypeOf<typeof Mail>

/** An email with its text, which is present only without an SMTP server. */
export const ReadMail = contract(
  'ReadMail',
  Type.Object({ ...fields, text: Type.Optional(Type.String({ maxLength: 20_000 })) }, closed),
)
export type ReadMail = TypeOf<typeof ReadMail>
