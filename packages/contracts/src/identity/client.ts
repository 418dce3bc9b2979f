import { Type } from 'typebox'
import { noUnknownFields, defineContract, type TypeOf } from '../contract.ts'
import { bodyOf, EmailAddress, SingleLineText, lineOf, namedFields, recordFields } from '../field-types.ts'

export const clientDomains = ['REGULAR', 'PUBLIC_DATASET_CATALOG', 'DATA_MART_PROGRAM'] as const

export const ContactInfo = defineContract(
  'ContactInfo',
  Type.Object(
    {
      name: Type.Optional(SingleLineText),
      email: Type.Optional(EmailAddress),
      phoneNumber: Type.Optional(Type.String({ maxLength: 50, pattern: '^\\P{Cc}*$', examples: ['+47 22 85 50 50'] })),
    },
    noUnknownFields,
  ),
)

const ClientCode = lineOf({ minLength: 2, maxLength: 25, examples: ['NORTH'] })

/** The name of an IANA time zone. */
export const TimeZone = Type.String({
  minLength: 1,
  maxLength: 64,
  pattern: '^[A-Za-z][A-Za-z0-9_+/-]*$',
  examples: ['Europe/Oslo'],
  description: 'The time zone of schedules, as an IANA name such as Europe/Oslo. Default: UTC.',
})

const clientFields = {
  ...namedFields,
  code: ClientCode,
  billingCode: ClientCode,
  primaryContact: ContactInfo,
  technicalContact: ContactInfo,
  billingContact: ContactInfo,
  disabled: Type.Boolean(),
  domain: Type.Enum([...clientDomains]),
  managerEnabled: Type.Boolean(),
  routesEnabled: Type.Boolean(),
  pipelinesEnabled: Type.Boolean(),
  enterpriseEnabled: Type.Boolean({ description: 'Sluice stores this value for other services and does not use it.' }),
  routeNotificationEmailAddresses: Type.Optional(
    Type.String({
      maxLength: 2000,
      format: 'email-list',
      examples: ['a@example.org, b@example.org'],
      description: 'Email addresses, separated by commas. Sluice stores them for other services and does not use them.',
    }),
  ),
  timeZone: Type.Optional(TimeZone),
}

export const ClientBody = defineContract('ClientBody', bodyOf(clientFields, recordFields))
export type ClientBody = TypeOf<typeof ClientBody>

export const Client = defineContract('Client', Type.Object({ ...recordFields, ...clientFields }, noUnknownFields))
export type Client = TypeOf<typeof Client>
