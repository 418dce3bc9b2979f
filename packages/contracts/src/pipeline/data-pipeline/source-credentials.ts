import { Type, type TProperties } from 'typebox'
import { noUnknownFields } from '../../contract.ts'
import { bodyOf, ignoredSecretStatus, secretStatusField } from '../../field-types.ts'
import { SourceUrl, describeField, SourceName, defineSecretField } from './form-field.ts'

/**
 * Returns the schemas of the object with the address and the credentials of a source. The one for requests has the
 * secrets; the one for responses has the status of the secrets instead. Different objects need different titles,
 * because the title is the name of the OpenAPI component.
 */
export function defineSourceAccess<Open extends TProperties, Secrets extends TProperties>(
  title: string,
  publicFields: Open,
  secretFields: Secrets,
) {
  const secretNames = Object.keys(secretFields) as (keyof Secrets & string)[]
  // A request may also contain the status of the secrets, so that a client can send a response back. It is ignored.
  const requestSchema = bodyOf({ ...publicFields, ...secretFields }, ignoredSecretStatus)
  return {
    requestSchema: Object.assign(requestSchema, { title: `${title}Body` }),
    responseSchema: Type.Object(
      { ...publicFields, secretStatus: secretStatusField(secretNames) },
      { ...noUnknownFields, title },
    ),
    secrets: secretNames,
  }
}

const baseUrlField = describeField(
  SourceUrl,
  'Address',
  'The base address of the system. Leave out /api, and any username or password.',
  'https://data.example.org',
)
const usernameField = describeField(SourceName, 'User name', 'An account with read access is sufficient.', 'reader')
const passwordField = defineSecretField('Password', 'The password of the account.', 'the password')
const authToken = defineSecretField('Token', 'An API token of the system.', 'a-token-of-the-system')

/** The field `apiSource`: an address and a token. */
export const tokenAccess = defineSourceAccess('ApiTokenSource', { url: baseUrlField }, { authToken })

export const loginAccess = defineSourceAccess(
  'ApiLoginSource',
  { url: baseUrlField, username: usernameField },
  { password: passwordField },
)

/** An address, a username, and a token of this user. */
export const userTokenAccess = defineSourceAccess(
  'ApiUserTokenSource',
  { url: baseUrlField, username: usernameField },
  { authToken },
)

/** A token, or a username and a password. */
export const anyAccess = defineSourceAccess(
  'ApiSource',
  {
    url: baseUrlField,
    username: Type.Optional({
      ...usernameField,
      description: 'The user name for the password. Not used with a token.',
    }),
  },
  { password: passwordField, authToken },
)

/** A token, a username and a password, or a key pair (SMART Backend Services). */
export const clinicalAccess = defineSourceAccess(
  'ClinicalApiSource',
  {
    url: describeField(SourceUrl, 'Address', 'The base address of the FHIR server.', 'https://fhir.example.org/fhir'),
    username: Type.Optional({
      ...usernameField,
      description: 'The user name for the password, if the server supports passwords.',
    }),
    clientId: Type.Optional(
      describeField(
        SourceName,
        'Client id',
        'With a private key: the client id of this installation at the server.',
        'sluice',
      ),
    ),
    keyId: Type.Optional(describeField(SourceName, 'Key id', 'The id under which the server knows the key.', 'key-1')),
    scope: Type.Optional(
      describeField(
        SourceName,
        'Scope',
        'The scope that is requested with the private key. Default: `system/*.rs`.',
        'system/*.read',
      ),
    ),
  },
  {
    password: passwordField,
    authToken: defineSecretField('Token', 'A bearer token that does not expire.', 'a-token-of-the-server'),
    privateKey: defineSecretField(
      'Private key',
      'For SMART Backend Services: PKCS #8 in PEM, of RSA or P-384.',
      '-----BEGIN PRIVATE KEY-----\n…',
      10_000,
      '\\S',
    ),
  },
)
