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
}

export const ClientBody = contract('ClientBody', body(fields))
export type ClientBody = TypeOf<typeof ClientBody>

export const Client = contract('Client', Type.Object({ ...recorded, ...fields }, closed))
export type Client = TypeOf<typeof Client>
