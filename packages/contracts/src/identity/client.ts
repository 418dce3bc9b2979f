import { Type } from 'typebox'
import { closed, contract, type TypeOf } from '../contract.ts'
import { body, Line, named, recorded } from '../named.ts'

export const clientDomains = ['REGULAR', 'PUBLIC_DATASET_CATALOG', 'DATA_MART_PROGRAM'] as const

export const ContactInfo = contract(
  'ContactInfo',
  Type.Object(
    {
      name: Type.Optional(Line),
      email: Type.Optional(Type.String({ maxLength: 254 })),
      phoneNumber: Type.Optional(Type.String({ maxLength: 50 })),
    },
    closed,
  ),
)

const Code = Type.String({ minLength: 2, maxLength: 25 })

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
  enterpriseEnabled: Type.Boolean(),
  routeNotificationEmailAddresses: Type.Optional(Type.String({ maxLength: 2000 })),
  timeZone: Type.Optional(TimeZone),
}

export const ClientBody = contract('ClientBody', body(fields))
export type ClientBody = TypeOf<typeof ClientBody>

export const Client = contract('Client', Type.Object({ ...recorded, ...fields }, closed))
export type Client = TypeOf<typeof Client>
