import { Type, type TProperties } from 'typebox'
import { closed } from '../../contract.ts'
import { Address, field, Name, secret } from './form-field.ts'

/**
 * The address and the credentials of a source, as one object of a body. `given` contains the secrets; `answered`, for responses,
 * does not. Objects with the same title must have the same fields.
 */
export function access<Open extends TProperties, Secrets extends TProperties>(
  title: string,
  open: Open,
  secrets: Secrets,
) {
  return {
    given: Type.Object({ ...open, ...secrets }, { ...closed, title: `${title}Body` }),
    answered: Type.Object({ ...open }, { ...closed, title }),
    secrets: Object.keys(secrets),
  }
}

const url = field(
  Address,
  'Address',
  'The base address of the system, without /api, username and password.',
  'https://data.example.org',
)
const username = field(Name, 'User name', 'An account with read access is sufficient.', 'reader')
const password = secret('Password', 'The password of the account.', 'the password')
const authToken = secret('Token', 'An API token of the system.', 'a-token-of-the-system')

/** The field `apiSource`: an address and a token. */
export const tokenAccess = access('ApiTokenSource', { url }, { authToken })

export const loginAccess = access('ApiLoginSource', { url, username }, { password })

/** An address, a username, and a token of this user. */
export const userTokenAccess = access('ApiUserTokenSource', { url, username }, { authToken })

/** A token, or a username and a password. */
export const anyAccess = access(
  'ApiSource',
  { url, username: Type.Optional({ ...username, description: 'With a password, not with a token.' }) },
  { password, authToken },
)

/** A token, a username and a password, or a key pair (SMART Backend Services). */
export const clinicalAccess = access(
  'ClinicalApiSource',
  {
    url: field(Address, 'Address', 'The base address of the FHIR server.', 'https://fhir.example.org/fhir'),
    username: Type.Optional({ ...username, description: 'With a password, if the server supports it.' }),
    clientId: Type.Optional(
      field(Name, 'Client id', 'With a private key: the client id of this installation at the server.', 'sluice'),
    ),
    keyId: Type.Optional(field(Name, 'Key id', 'The id under which the server knows the key.', 'key-1')),
    scope: Type.Optional(
      field(
        Name,
        'Scope',
        'The scope that is requested with the private key; system/*.rs when absent.',
        'system/*.read',
      ),
    ),
  },
  {
    password,
    authToken: secret('Token', 'A bearer token that does not expire.', 'a-token-of-the-server'),
    privateKey: secret(
      'Private key',
      'For SMART Backend Services: PKCS #8 in PEM, of RSA or P-384.',
      '-----BEGIN PRIVATE KEY-----\n…',
      10_000,
      '\\S',
    ),
  },
)
