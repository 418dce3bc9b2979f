import { Type } from 'typebox'
import { closed, contract, type TypeOf } from '../contract.ts'
import { bodyOf, Email, Line, lineOf, named, recorded } from '../named.ts'

export const clientDomains = ['REGULAR', 'PUBLIC_DATASET_CATALOG', 'DATA_MART_PROGRAM'] as const

export const ContactInfo = contract(
  'ContactInfo',
  Type.Object(
    {
      name: Type.Optional(Line),
      email: Type.Optional(Email),
      phoneNumber: Type.Optional(Type.String({ maxLength: 50, pattern: '^\\P{Cc}*$', examples: ['+47 22 85 50 50'] })),
    },
    closed,
  ),
)

const Code = lineOf({ minLength: 2, maxLength: 25, examples: ['NORTH'] })

/** The name of a zone of the IANA list. */
export const TimeZone = Type.String({
  minLength: 1,
  maxLength: 64,
  pattern: '^[A-Za-z][A-Za-z0-9_+/-]*$',
  examples: ['Europe/Oslo'],
  description: 'An IANA name such as Europe/Oslo: the zone that schedules follow. UTC when absent.',
})

const fields = {
  ...named,
  code: Code,
  billingCode: Code,
  primaryContact: ContactInfo,
  technicalContact: ContactInfo,
  billingContact: ContactInfo,
  disabled: Type.Boolean(),
  domain: Type.Enum([...clientDomains]),
  managerEnabled: Type.Boolean(),
  routesEnabled: Type.Boolean(),
  pipelinesEnabled: Type.Boolean(),
  enterpriseEnabled: Type.Boolean({ description: 'Kept for other services.' }),
  routeNotificationEmailAddresses: Type.Optional(
    Type.String({
      maxLength: 2000,
      format: 'email-list',
      examples: ['a@example.org, b@example.org'],
      description: 'Addresses with commas between them. Kept for other services.',
    }),
  ),
  timeZone: Type.Optional(TimeZone),
}

export const ClientBody = contract('ClientBody', bodyOf(fields, recorded))
export type ClientBody = TypeOf<typeof ClientBody>

export const Client = contract('Client', Type.Object({ ...recorded, ...fields }, closed))
export type Client = TypeOf<typeof Client>
