import { pipelineVariants } from '@sluice/contracts'
import type { SourceSecrets } from '../connector.ts'
import {
  type ConnectorDefinition,
  type GivenSecrets,
  InvalidSetting,
  type KnownType,
  type SourceFieldsOf,
  type SourceOf,
} from './connector-definition.ts'
import { normalizeAddress, parseAddress } from './source-address.ts'

type ConnectionField =
  | 'apiSource'
  | 'objectStoreSource'
  | 'blobStoreSource'
  | 'functionSource'
  | 'spreadsheetSource'
  | 'jdbcSource'

interface ConnectedSource<Type extends KnownType>
  extends Pick<ConnectorDefinition<Type, SourceOf<Type>>, 'assertLookup' | 'assertSettings' | 'assertSecrets'> {
  type: Type
  /** The name of the field that contains the address and the credentials. */
  connectionField: Extract<keyof SourceOf<Type>, ConnectionField>
  /** The names of the secret fields in `connectionField`. API responses leave them out. */
  secretFields: readonly string[]
  /** Validates the connection. Default: its field `url` must be a valid address. */
  assertConnection?(source: SourceOf<Type>): void
  /**
   * Returns the value that identifies the recipient of the secrets. Default: the address. If it changes, the user must
   * enter the secrets again.
   */
  getSecretAudience?(settings: SourceOf<Type>): unknown
  formatSourceName(settings: SourceOf<Type>): string
}

/**
 * Defines a connector for a source with an address and credentials. The stored settings are the request body without
 * the secrets.
 */
export function defineConnectedSource<Type extends KnownType>(
  source: ConnectedSource<Type>,
): ConnectorDefinition<Type, SourceOf<Type>> {
  const { type, connectionField, secretFields, assertLookup, assertSettings, assertSecrets, formatSourceName } = source
  const { ownFields } = pipelineVariants.find((variant) => variant.type === type)!
  const connectionOf = (body: SourceOf<Type>) => body[connectionField] as Readonly<Record<string, unknown>>
  const urlOf = (body: SourceOf<Type>) => connectionOf(body)['url'] as string
  const {
    assertConnection = (body) => void parseAddress(`/${connectionField}/url`, urlOf(body)),
    getSecretAudience = (settings) => normalizeAddress(urlOf(settings)),
  } = source

  return {
    assertConnection,
    assertSettings(body) {
      assertConnection(body)
      assertSettings?.(body)
    },
    getSettings(body) {
      const fields = Object.fromEntries(ownFields.map((name) => [name, (body as Record<string, unknown>)[name]]))
      const connection = Object.entries(connectionOf(body)).filter(
        ([name]) => name !== 'secretStatus' && !secretFields.includes(name),
      )
      return { ...fields, [connectionField]: Object.fromEntries(connection) } as SourceOf<Type>
    },
    getSecrets: (body) =>
      Object.fromEntries(secretFields.map((name) => [name, connectionOf(body)[name]])) as GivenSecrets,
    secretFields: { object: connectionField, names: secretFields },
    ...(assertLookup && { assertLookup }),
    ...(assertSecrets && { assertSecrets }),
    secretAudience: { pointer: `/${connectionField}`, of: getSecretAudience },
    getResponseFields: (settings) => settings as unknown as SourceFieldsOf<Type>,
    formatSourceName,
  }
}

/** Throws `InvalidSetting` for more than one kind of credential. Allows none, because some sources are public. */
export function assertOneCredential(
  secrets: SourceSecrets,
  field: string,
  credentials: Readonly<Record<string, string>>,
): void {
  const givenNames = Object.keys(credentials).filter((name) => name in secrets)
  if (givenNames.length > 1)
    throw new InvalidSetting(
      `/${field}/${givenNames[1]}`,
      `Send either ${credentials[givenNames[0]!]} or ${credentials[givenNames[1]!]}, and null for the other one.`,
    )
}

/** Throws `InvalidSetting` if the secrets contain an access key without its secret key, or the reverse. */
export function assertCredentialPair(secrets: SourceSecrets, field: string): void {
  const [key, secret] = ['accessKey' in secrets, 'secretKey' in secrets]
  if (key !== secret)
    throw new InvalidSetting(
      `/${field}/${key ? 'secretKey' : 'accessKey'}`,
      'An access key and its secret key go together: send both, or null for both.',
    )
}

/** Throws `InvalidSetting` for a password without a username. */
export function assertUsername(username: string | undefined, secrets: SourceSecrets, field: string): void {
  if ('password' in secrets && username === undefined)
    throw new InvalidSetting(`/${field}/username`, 'A password requires a username. Send both, or neither.')
}
