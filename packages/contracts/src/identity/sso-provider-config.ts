import { Type } from 'typebox'
import { noUnknownFields, defineContract, type TypeOf } from '../contract.ts'
import { bodyOf, ObjectReference, Timestamp, Uid } from '../field-types.ts'
import { Client } from './client.ts'

export const ssoProviders = ['IDP_VENDOR', 'GENERIC'] as const
export type SsoProvider = (typeof ssoProviders)[number]

const providerFields = {
  provider: Type.Enum([...ssoProviders]),
  clientDomain: Type.String({
    minLength: 1,
    maxLength: 500,
    pattern: '^[!-~]*$',
    examples: ['login.example.org'],
    description:
      'For IDP_VENDOR, the domain that the vendor gave you; the issuer is https://<clientDomain>/. For GENERIC, the issuer of the provider, as a URL or only its host.',
  }),
  mappingClaim: Type.String({
    minLength: 1,
    maxLength: 100,
    pattern: '^[!-~]*$',
    examples: ['sub'],
    description:
      'The claim that contains the ssoId of a user. Choose a claim that users cannot change, such as sub, or oid for Microsoft Entra.',
  }),
}

const ClientId = Type.String({ minLength: 1, maxLength: 255, pattern: '^[ -~]*$', examples: ['sluice'] })
const ClientSecret = Type.String({
  minLength: 1,
  maxLength: 1000,
  pattern: '^[ -~]*$',
  examples: ['the secret that the provider shows'],
})

/**
 * The body of a provider. Responses leave out clientId and clientSecret, so an absent or null value keeps the stored
 * value, and an empty text deletes it.
 */
export const SsoProviderConfigBody = defineContract(
  'SsoProviderConfigBody',
  bodyOf(
    {
      ...providerFields,
      client: Type.Optional(ObjectReference),
      clientId: Type.Optional(Type.Union([ClientId, Type.Null()], { writeOnly: true })),
      clientSecret: Type.Optional(Type.Union([ClientSecret, Type.Null()], { writeOnly: true })),
    },
    { id: Uid, created: Timestamp, lastUpdated: Timestamp },
  ),
)
export type SsoProviderConfigBody = TypeOf<typeof SsoProviderConfigBody>

const providerConfigFields = { id: Uid, created: Timestamp, lastUpdated: Timestamp, client: Client, ...providerFields }

/** The SSO provider of a client (organisation), without the client secret. */
export const SsoProviderConfig = defineContract('SsoProviderConfig', Type.Object(providerConfigFields, noUnknownFields))
export type SsoProviderConfig = TypeOf<typeof SsoProviderConfig>

/**
 * The response for super admins, who configure providers for other organisations. It contains the client ID and the
 * secret.
 */
export const SsoProviderConfigWithCredentials = defineContract(
  'SsoProviderConfigWithCredentials',
  Type.Object(
    { ...providerConfigFields, clientId: Type.Optional(ClientId), clientSecret: Type.Optional(ClientSecret) },
    noUnknownFields,
  ),
)
export type SsoProviderConfigWithCredentials = TypeOf<typeof SsoProviderConfigWithCredentials>
